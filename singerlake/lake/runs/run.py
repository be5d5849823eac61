"""A run of a tap as readers see it: how it ended, and what it left in each stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from singerlake.format.run import Mark, Outcome, RunStream
from singerlake.format.run_log import Row

LOST_AFTER = timedelta(hours=24)
"""A run that has committed, and has no document after so long, is lost."""

SeenOutcome = Outcome | Literal["open", "lost"]
"""Outcomes of documents, and those of runs that left commits and no document."""


@dataclass(frozen=True)
class Run:
    """One process that landed one tap.

    `outcome` is `complete`, `ended`, `failed` or `stopped` as the run's document says, and `open`
    or `lost` where the run left commits and no document. Then `begun` and `ended` are the times
    of the first and the last commit, and `number`, that of the run's row in the log, is 0. A
    correction is a row of its own: `first_number` is that of the row before any correction.

    `streams` has every stream whose SCHEMA the run was sent. A stream without a record has the
    sequence numbers 0: a full table that is empty.
    """

    tap_id: str
    run_id: str
    writer_id: str
    begun: datetime
    ended: datetime
    outcome: SeenOutcome
    streams: Mapping[str, RunStream]
    reason: str = ""
    exit_code: int | None = None
    number: int = 0
    first_number: int = 0
    document: str = ""
    mark: Mark | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """What tells this run from every other."""
        return self.run_id, self.writer_id

    @property
    def records(self) -> int:
        return sum(stream.records for stream in self.streams.values())

    @property
    def bytes(self) -> int:
        return sum(stream.bytes for stream in self.streams.values())

    @property
    def duration(self) -> timedelta:
        return self.ended - self.begun


def of_row(tap_id: str, row: Row, first_number: int = 0) -> Run:
    return Run(
        tap_id=tap_id,
        run_id=row.run_id,
        writer_id=row.writer_id,
        begun=row.begun,
        ended=row.ended,
        outcome=row.outcome,
        streams=row.streams,
        reason=row.reason,
        exit_code=row.exit_code,
        number=row.number,
        first_number=first_number or row.number,
        document=row.document,
        mark=row.mark,
    )
