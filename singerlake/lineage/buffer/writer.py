"""The one thread that writes: a transaction for each group, in the newest partition."""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from singerlake.errors import SingerlakeError, Unavailable
from singerlake.lineage.buffer.disk import database, partition
from singerlake.lineage.buffer.disk.event import Row, pack
from singerlake.lineage.buffer.disk.layout import bytes_of
from singerlake.lineage.buffer.limits import HOUR
from singerlake.lineage.buffer.shelf import Shelf
from singerlake.lineage.buffer.waiting import Outcome, Waiting

logger = logging.getLogger(__name__)

LOOK_EVERY = 64
"""Groups between two looks at the size of the partition and at the room on the disk."""

QUICK_SECONDS = 0.01
"""Where a commit takes longer, whoever asks for one must not wait for it on its own thread."""


class Writer:
    def __init__(self, shelf: Shelf, waiting: Waiting) -> None:
        self._shelf, self._waiting = shelf, waiting
        self._turn = threading.Lock()
        self._connection: sqlite3.Connection | None = None
        self._began = shelf.runtime.monotonic()
        self._since_look = 0
        self._seconds = 0.0
        self._closed = False
        if shelf.newest is not None and shelf.newest.last == shelf.last:
            self._connection = self._opened(shelf.newest)
        self._thread = shelf.runtime.start(self._run, "singerlake-lineage-writer")

    def _run(self) -> None:
        while group := self._waiting.take():
            events = [event for request in group for event in request.events]
            with self._turn:
                outcome = self._outcome(events)
            for request in group:
                if isinstance(outcome, Exception):
                    request.done(outcome)
                else:
                    ours, outcome = outcome[: len(request.events)], outcome[len(request.events) :]
                    request.done(ours)

    def write_now(self, events: Sequence[bytes]) -> Outcome | None:
        """On the thread that asks, which saves two changes of threads; None where another thread
        writes, the disk is slow, or a new partition may be due: to close the old one takes half a
        minute where somebody reads it."""
        if self._since_look <= 1 or self._seconds > QUICK_SECONDS:
            return None
        if not self._turn.acquire(blocking=False):
            return None
        try:
            return None if self._closed else self._outcome(events)
        finally:
            self._turn.release()

    def _outcome(self, events: Sequence[bytes]) -> Outcome:
        """For the thread whose turn it is."""
        began = self._shelf.runtime.monotonic()
        try:
            first = self._write(events)
        except (SingerlakeError, sqlite3.Error, OSError) as error:
            if events:  # else somebody only asks whether writes succeed again
                logger.error("%d events were refused: %s", len(events), error)
            return _refusal(error)
        except Exception as error:  # a writer that ends in silence would hold all requests
            logger.exception("the writer failed, and goes on")
            return _refusal(error)
        finally:
            self._seconds = self._shelf.runtime.monotonic() - began
        self._shelf.announce()
        return list(range(first, first + len(events)))

    def _write(self, events: Sequence[bytes]) -> int:
        """The number of the first. Raises what says why nothing was written."""
        self._look()
        try:
            return self._commit(events)
        except sqlite3.Error as error:
            if database.is_full(error):
                raise
            # Not the disk's room but this file: the next partition takes the group. What became of
            # the numbers is unknown, so they are not used again.
            logger.error("%s cannot be written: %s", self._shelf.newest, error)
            self._close()
            self._shelf.abandon(len(events))
        return self._commit(events)

    def _commit(self, events: Sequence[bytes]) -> int:
        if self._connection is None:
            self._connection = self._opened(self._shelf.add_partition())
        received = int(self._shelf.runtime.now().timestamp() * 1000)
        first = self._shelf.next
        rows: list[Row] = [
            pack(sequence, received, event)
            for sequence, event in zip(count(first), events, strict=False)
        ]
        partition.append(self._connection, rows)
        self._shelf.grew(first + len(rows) - 1)
        return first

    def _opened(self, newest: partition.Partition) -> sqlite3.Connection:
        self._began, self._since_look = self._shelf.runtime.monotonic(), 0
        return database.connect(newest.path)

    def _look(self) -> None:
        """Begin a new partition where this one is large enough; refuse while the disk is full."""
        self._since_look -= 1
        if self._since_look > 0:
            return
        self._since_look = LOOK_EVERY
        room = os.statvfs(self._shelf.folder)
        if room.f_bavail * room.f_frsize < self._shelf.limits.free_bytes:
            self._since_look = 0
            raise Unavailable(
                f"{self._shelf.folder}: expected {self._shelf.limits.free_bytes} free bytes on the "
                f"disk, found {room.f_bavail * room.f_frsize}"
            )
        newest = self._shelf.newest
        if (
            self._connection is not None
            and newest is not None
            and bytes_of(newest.path) >= self._shelf.limits.partition_bytes
        ):
            self._close()

    def rotate_if_old(self) -> None:
        """An idle partition is closed too, so that it can be deleted."""
        limit = self._shelf.limits.partition_hours * HOUR
        newest = self._shelf.newest
        if newest is None or newest.last < newest.first:
            return
        if self._shelf.runtime.monotonic() - self._began >= limit:
            self.rotate()

    def rotate(self) -> None:
        """The next event begins a new partition; this one is closed, and nobody's."""
        with self._turn:
            self._close()
            newest = self._shelf.newest
            if newest is not None and newest.last >= newest.first:
                self._connection = self._opened(self._shelf.add_partition())

    def _close(self) -> None:
        if self._connection is None:
            return
        connection, self._connection = self._connection, None
        # What fails here was written already: whoever reads the partition recovers it.
        with suppress(sqlite3.Error):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with suppress(sqlite3.Error):
            connection.close()

    def close(self) -> None:
        """Write what waits, then end."""
        self._waiting.close()
        self._thread.join()
        with self._turn:
            self._closed = True
            self._close()


def _refusal(error: Exception) -> Unavailable:
    return Unavailable(f"the event cannot be kept: {error}; send it again later")
