"""What the scans of a connection found: values that do not fit, and an error of ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from singerlake.errors import SingerlakeError
from singerlake.sql.misfit import Misfit, found_in

logger = logging.getLogger("singerlake.sql")


@dataclass
class Scans:
    """The scans of one connection.

    A stream that stands in a query twice is scanned twice, and its misfits are the same both
    times: of each column, the scan that found most of them counts. DuckDB makes a text of an error
    of ours, so the error itself is kept here.
    """

    max_misfits: int | None = None
    logs_misfits: bool = False
    failure: SingerlakeError | None = None
    _found: dict[tuple[str, str, str], Misfit] = field(default_factory=dict)

    def misfits(self) -> list[Misfit]:
        """What has been found so far, by stream and column."""
        return [self._found[key] for key in sorted(self._found)]

    def watched(
        self, tap_id: str, stream: str, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The batches of one scan, which have the column `_misfits`."""
        counts: dict[str, int] = {}
        try:
            for batch in self.guarded(batches):
                for column, count, example in found_in(batch):
                    counts[column] = counts.get(column, 0) + count
                    self._note(Misfit(tap_id, stream, column, counts[column], example))
                yield batch
        finally:
            if counts and self.logs_misfits:
                _log(tap_id, stream, counts)

    def guarded(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The batches; an error of ours is kept."""
        try:
            yield from batches
        except SingerlakeError as error:
            self.failure = error
            raise

    def _note(self, misfit: Misfit) -> None:
        key = (misfit.tap_id, misfit.stream, misfit.column)
        known = self._found.get(key)
        if known is None or known.count < misfit.count:
            self._found[key] = misfit


def _log(tap_id: str, stream: str, counts: dict[str, int]) -> None:
    found = ", ".join(f"{count} of {column}" for column, count in counts.items())
    logger.warning(
        "stream %r of %r: values that do not fit their type are null: %s", stream, tap_id, found
    )
