"""Events after a number, for one destination."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import suppress

from singerlake.errors import CorruptFile
from singerlake.lineage.buffer.disk import database, partition
from singerlake.lineage.buffer.disk.event import Stored, unpack
from singerlake.lineage.buffer.disk.partition import Partition
from singerlake.lineage.buffer.shelf import Shelf


class Reader:
    """For one thread. Reads around what is damaged, after `mend` has set it aside."""

    def __init__(self, shelf: Shelf, mend: Callable[[Partition, str], None]) -> None:
        self._shelf, self._mend = shelf, mend
        self._open: tuple[Partition, sqlite3.Connection] | None = None

    def after(self, sequence: int, at_most: int) -> list[Stored]:
        """The next events, in order, as far as one partition has them; none at the end."""
        while (found := self._shelf.holding(sequence)) is not None:
            try:
                rows = partition.rows_after(self._connection(found), sequence, at_most)
                # What a failed commit left past the end has numbers that others may have.
                events = [unpack(row) for row in rows if row[0] <= found.last]
            except (sqlite3.Error, CorruptFile) as error:
                self.close()
                if not isinstance(error, CorruptFile) and not database.is_damage(error, found.path):
                    raise
                self._mend(found, str(error))
                continue
            if not events:
                self.close()
                self._mend(found, "events are missing at the end")
                continue
            self._note_gaps(max(sequence + 1, found.first), events)
            return events
        return []

    def _note_gaps(self, expected: int, events: list[Stored]) -> None:
        for event in events:
            if event.sequence != expected and not self._shelf.gaps.covers(
                expected, event.sequence - 1
            ):
                self._shelf.note_lost([(expected, event.sequence - 1)], "events are missing")
            expected = event.sequence + 1

    def _connection(self, wanted: Partition) -> sqlite3.Connection:
        if self._open is None or self._open[0].path != wanted.path:
            self.close()
            newest = self._shelf.newest
            sealed = newest is not None and newest.first != wanted.first
            self._open = wanted, database.connect_to_read(wanted.path, sealed)
        return self._open[1]

    def close(self) -> None:
        if self._open is not None:
            with suppress(sqlite3.Error):
                self._open[1].close()
            self._open = None
