"""The parts of a table: a stream between two bookmarks, or a tap's runs, read on an executor."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from singerlake.errors import StaleSnapshot
from singerlake.lake import Lake, Run, Stream
from singerlake.lake.feed import run_end
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Event
from singerlake.lake.feed.feed import ATTEMPTS
from singerlake.lake.runs.run import of_row
from singerlake.spark.files import arrow_schema
from singerlake.spark.options import parallelism
from singerlake.spark.tables import rows
from singerlake.spark.tables.options import TableOptions
from singerlake.spark.tables.rows import Row

ROWS = 5_000
"""How many rows one batch has."""


@dataclass(frozen=True)
class Part:
    """What was committed to a stream between two bookmarks; without a stream, the tap's runs.

    `until` is None for all runs of a tap, also those that the run log does not have.
    """

    tap: str
    stream: str = ""
    since: Bookmark | None = None
    until: Bookmark | None = None

    @property
    def weight(self) -> int:
        """About how many rows there are."""
        first = 0 if self.since is None else self.since.sequence
        return 1 if self.until is None else max(self.until.sequence - first, 1)


class PartsPartition(InputPartition):
    """Parts that one task reads, in order."""

    def __init__(self, parts: Sequence[Part]) -> None:
        super().__init__(None)
        self.parts = tuple(parts)


def of_streams(since: Cursor, until: Cursor) -> list[Part]:
    """A part for each stream that has gone on."""
    return [
        Part(*key, since.bookmarks.get(key), end)
        for key, end in sorted(until.bookmarks.items())
        if since.bookmarks.get(key) != end
    ]


def of_runs(since: Cursor, until: Cursor) -> list[Part]:
    """A part for each tap of which runs have ended."""
    return [
        Part(tap, "", _begin(since.runs.get(tap), end), end)
        for tap, end in sorted(until.runs.items())
        if since.runs.get(tap) != end
    ]


def _begin(read: Bookmark | None, end: Bookmark) -> Bookmark | None:
    """A run log whose numbers were given anew is read from its beginning."""
    return read if read is not None and read.log_id == end.log_id else None


def pack(parts: Sequence[Part], options: TableOptions) -> list[InputPartition]:
    """The parts in order, in so many partitions of about the same number of rows."""
    count = parallelism(options.min_partitions)
    total = sum(part.weight for part in parts)
    packed: list[list[Part]] = []
    reached = 0
    for part in parts:
        if not packed or reached * count >= len(packed) * total:
            packed.append([])
        packed[-1].append(part)
        reached += part.weight
    return [PartsPartition(group) for group in packed]


def batches(
    options: TableOptions, schema: StructType, partition: InputPartition
) -> Iterator[pa.RecordBatch]:
    """The rows of a partition, with the columns of the schema."""
    if not isinstance(partition, PartsPartition):
        return  # Spark's own, where there is nothing to read
    lake, names = options.lake(), schema.names
    arrow = arrow_schema(schema)
    found = iter(
        {name: row[name] for name in names}
        for part in partition.parts
        for row in _rows(lake, options, part)
    )
    while some := list(islice(found, ROWS)):
        try:
            yield pa.RecordBatch.from_pylist(some, schema=arrow)
        except UnicodeEncodeError:  # rare, so that not every row is copied
            yield pa.RecordBatch.from_pylist(_in_utf8(some), schema=arrow)


def _in_utf8(value: Any) -> Any:
    """Names may hold halves of surrogate pairs, and columns cannot: they get a question mark."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_in_utf8(one) for one in value]
    if isinstance(value, dict):
        return {key: _in_utf8(one) for key, one in value.items()}
    return value


def _rows(lake: Lake, options: TableOptions, part: Part) -> Iterator[Row]:
    if options.table == "runs":
        return rows.runs(_runs(lake, options, part))
    return rows.OF_EVENTS[options.table](_events(lake.stream(part.tap, part.stream), part))


def _events(stream: Stream, part: Part) -> Iterator[Event]:
    """What was committed. Where a vacuum and a purge overtake this, a new snapshot has the rest."""
    since = _known(stream, part)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            for event in stream.increment(since, part.until).events():
                yield event
                since = event.bookmark
        except StaleSnapshot:
            if attempt == ATTEMPTS:
                raise
        else:
            return


def _known(stream: Stream, part: Part) -> Bookmark | None:
    """Where to begin: at the beginning, where the numbers that were read mean something else."""
    since, until = part.since, part.until
    if since is None or until is None or since.log_id == until.log_id:
        return since
    return since if stream.snapshot().knows(since.log_id, since.sequence) else None


def _runs(lake: Lake, options: TableOptions, part: Part) -> Iterable[Run]:
    if part.until is None:
        found: Iterable[Run] = lake.tap(part.tap).runs(open=True)
    else:
        logged = run_end.between(lake.store, part.tap, part.since, part.until)
        found = (of_row(part.tap, row) for row in logged)
    return (run for run in found if options.stream in (None, *run.streams))
