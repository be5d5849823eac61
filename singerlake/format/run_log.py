"""The log of a tap's runs: a numbered row for each, the newest in one small document.

A row is never changed. A correction is a row more: of the rows of one run the last one counts.
Past a threshold the oldest rows move to immutable segments, as those of a manifest do. Everything
here is a frozen value.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Annotated

import msgspec

from singerlake.format import document, times
from singerlake.format.document import Count, Moment
from singerlake.format.run import Mark, Outcome, RunDocument, RunStream, require_streams

KIND = "singerlake.run_log"
SEGMENT_KIND = "singerlake.run_segment"

FAN_OUT = 50
"""A segment holds this many rows; twice as many may wait in the log. A row names every stream of
its run, so there are fewer than in a manifest."""

MOST_LEVELS = 9


class Row(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One run, or a correction of its outcome. `document` is the name of the run's document."""

    number: Count
    document: str
    run_id: str
    writer_id: str
    begun: Moment
    ended: Moment
    outcome: Outcome
    reason: str = ""
    exit_code: int | None = None
    streams: dict[str, RunStream] = {}
    mark: Mark | None = None

    @property
    def identity(self) -> tuple[str, str]:
        """What tells this run from every other."""
        return self.run_id, self.writer_id

    def agrees(self, run: RunDocument) -> bool:
        """Whether this is what the run's document says."""
        return self == row_of(run, self.number)


class Segment(msgspec.Struct, frozen=True, kw_only=True):
    """An immutable object that holds older rows. `newest` is the largest `begun` in it."""

    path: str
    level: Annotated[int, msgspec.Meta(ge=1, le=MOST_LEVELS)]
    first_number: Count
    last_number: Count
    newest: Moment
    checksum: str


class RunLog(msgspec.Struct, frozen=True, kw_only=True):
    """The log's head. `log_id` changes when the rows were numbered anew; `commit_id` makes the
    bytes of every version unique."""

    format: str = KIND
    format_version: int = document.VERSION
    tap_id: str
    log_id: str
    commit_id: str
    last_number: Count = 0
    segments: tuple[Segment, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def newest_sealed(self) -> datetime | None:
        """The largest `begun` of the rows that are in segments."""
        return max((segment.newest for segment in self.segments), default=None)


class SegmentContent(msgspec.Struct, frozen=True, kw_only=True):
    """A segment object: rows at level 1, segments of the level below above that."""

    format: str = SEGMENT_KIND
    format_version: int = document.VERSION
    rows: tuple[Row, ...] = ()
    segments: tuple[Segment, ...] = ()


def _require_log(log: RunLog) -> None:
    _require_rows(log.segments, log.rows)
    numbers = [row.number for row in log.rows]
    end = max((segment.last_number for segment in log.segments), default=0)
    if numbers != list(range(end + 1, log.last_number + 1)):
        raise ValueError(f"rows that are not numbered from {end + 1} to {log.last_number}")


def _require_segment(content: SegmentContent) -> None:
    if not content.rows and not content.segments:
        raise ValueError("no rows")
    _require_rows(content.segments, content.rows)


def _require_rows(segments: Sequence[Segment], rows: Sequence[Row]) -> None:
    times.require_utc([segment.newest for segment in segments])
    times.require_utc([moment for row in rows for moment in (row.begun, row.ended)])
    times.require_utc([row.mark.at for row in rows if row.mark is not None])
    for row in rows:
        require_streams(row.streams)


decode = document.reader(RunLog, KIND, sealed=True, require=_require_log)
decode_segment = document.reader(SegmentContent, SEGMENT_KIND, require=_require_segment)


def encode(log: RunLog) -> bytes:
    return document.seal(document.encode(log))


def row_of(run: RunDocument, number: int) -> Row:
    """The row that sums up a run's document."""
    streams = {
        name: msgspec.structs.replace(stream, schema_hashes=())
        for name, stream in run.streams.items()
    }
    return Row(
        number=number,
        document=run.name,
        run_id=run.run_id,
        writer_id=run.writer_id,
        begun=run.begun,
        ended=run.ended,
        outcome=run.outcome,
        reason=run.reason,
        exit_code=run.exit_code,
        streams=streams,
        mark=run.mark,
    )


def append(log: RunLog, runs: Sequence[RunDocument], commit_id: str) -> RunLog:
    """The log with a row for each of these runs, under the next numbers."""
    numbered = enumerate(runs, start=log.last_number + 1)
    added = tuple(row_of(run, number) for number, run in numbered)
    return msgspec.structs.replace(
        log,
        commit_id=commit_id,
        last_number=log.last_number + len(added),
        rows=log.rows + added,
    )


class Seal(msgspec.Struct, frozen=True):
    """Rows that are due to move to a segment of their own."""

    level: int
    rows: tuple[Row, ...] = ()
    segments: tuple[Segment, ...] = ()

    @property
    def content(self) -> SegmentContent:
        return SegmentContent(rows=self.rows, segments=self.segments)

    def segment(self, path: str, checksum: str) -> Segment:
        """The row that stands for these rows."""
        first = [row.number for row in self.rows] + [row.first_number for row in self.segments]
        last = [row.number for row in self.rows] + [row.last_number for row in self.segments]
        newest = [row.begun for row in self.rows] + [row.newest for row in self.segments]
        return Segment(
            path=path,
            level=self.level,
            first_number=min(first),
            last_number=max(last),
            newest=max(newest),
            checksum=checksum,
        )


def due_seal(log: RunLog) -> Seal | None:
    """The next rows to move out, or None while the log is small enough."""
    if len(log.rows) > 2 * FAN_OUT:
        return Seal(1, rows=log.rows[:FAN_OUT])
    for level, neighbours in groupby(log.segments, key=lambda segment: segment.level):
        peers = tuple(neighbours)
        if len(peers) > 2 * FAN_OUT and level < MOST_LEVELS:
            return Seal(level + 1, segments=peers[:FAN_OUT])
    return None


def sealed(log: RunLog, seal: Seal, segment: Segment) -> RunLog:
    """The log with the seal's rows replaced by the segment that now holds them."""
    moved = {one.path for one in seal.segments}
    segments = [one for one in log.segments if one.path not in moved] + [segment]
    return msgspec.structs.replace(
        log,
        rows=log.rows[len(seal.rows) :],
        segments=tuple(sorted(segments, key=lambda one: one.first_number)),
    )
