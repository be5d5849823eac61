"""What the scans of a connection found: values that do not fit, and an error of ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeVar

import pyarrow as pa

from singerlake.decode.misfit import Tally, described
from singerlake.decode.stream import StreamBatches
from singerlake.errors import SingerlakeError
from singerlake.format.keys import StreamKeys
from singerlake.sql.misfit import Misfit

T = TypeVar("T")

logger = logging.getLogger("singerlake.sql")


@dataclass
class Scans:
    """The scans of one connection. DuckDB makes a text of an error of ours, or of an interrupt, so
    they are kept here."""

    logs_misfits: bool = False
    failure: SingerlakeError | KeyboardInterrupt | None = None
    _tallies: list[tuple[StreamKeys, Tally]] = field(default_factory=list)

    def misfits(self) -> list[Misfit]:
        """What has been found so far, by stream and column.

        A stream that stands in a query twice is scanned twice, and its misfits are the same both
        times: of each column, the scan that found most of them counts.
        """
        found: dict[tuple[str, str, str], Misfit] = {}
        for keys, tally in self._tallies:
            for column, misfit in tally.found.items():
                place = (keys.tap_id, keys.stream, column)
                if place not in found or found[place].count < misfit.count:
                    found[place] = Misfit(*place, misfit.count, misfit.example)
        return [found[place] for place in sorted(found)]

    def counted(self, rows: StreamBatches) -> Iterator[pa.RecordBatch]:
        """The batches of one scan of a stream."""
        tally, keys = Tally(), rows.snapshot.keys
        self._tallies.append((keys, tally))
        try:
            yield from rows.batches(tally)
        finally:
            if tally.found and self.logs_misfits:
                found = described(tally.found, dict(rows.wanted.columns))
                logger.warning("stream %r of %r: %s: %s", keys.stream, keys.tap_id, tally, found)

    def guarded(self, found: Iterator[T]) -> Iterator[T]:
        """What a scan gives; an error that ends it too early is kept."""
        try:
            yield from found
        except (SingerlakeError, KeyboardInterrupt) as error:
            self.failure = error
            raise
