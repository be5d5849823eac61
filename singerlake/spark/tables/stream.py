"""A table about the lake as it grows: the feed as the micro-batches of a Spark query.

An offset is a cursor: a bookmark for each stream, or for each tap's runs. Spark keeps offsets in
the query's checkpoint and asks for the rows between two of them: a restart gives each row once.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    SupportsTriggerAvailableNow,
)
from pyspark.sql.types import StructType

from singerlake.errors import StaleBookmark
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor, StreamKey
from singerlake.lake.feed.ends import Ends
from singerlake.lake.feed.follower import Follower
from singerlake.runtime import REAL
from singerlake.spark.tables import part
from singerlake.spark.tables.options import TableOptions

REST = 1.0
"""Seconds for which an end counts: Spark asks a hundred times a second."""

Offset = dict[str, Any]
Name = TypeVar("Name", str, StreamKey)


class TableStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Looks on the driver where streams end, and reads their logs on the executors."""

    def __init__(self, options: TableOptions, schema: StructType) -> None:
        self._options, self._schema = options, schema
        self._ends: Ends | None = None
        self._target: Cursor | None = None
        self._last: tuple[float, Cursor] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Tasks need none of the driver's positions."""
        return {**self.__dict__, "_ends": None, "_target": None, "_last": None}

    def initialOffset(self) -> Offset:  # noqa: N802
        self._options.existing_lake()
        return _offset(Cursor())

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._end()

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        return _offset(self._end())

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        read, end = _cursor(start), self._target or self._end()
        after = Cursor(_after(read.bookmarks, end.bookmarks), _after(read.runs, end.runs))
        # Spark takes any other offset for a new batch.
        return start if after == read else _offset(after)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        parts = part.of_runs if self._options.table == "runs" else part.of_streams
        return part.pack(parts(_cursor(start), _cursor(end)), self._options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return part.batches(self._options, self._schema, partition)

    def _end(self) -> Cursor:
        """Where everything ends now, or ended a moment ago."""
        options, now = self._options, REAL.monotonic()
        if self._last is not None and now - self._last[0] < REST:
            return self._last[1]
        if self._ends is None:
            follower = Follower(options.lake().store)
            self._ends = Ends(follower, options.taps, options.streams)
        is_of_runs = options.table == "runs"
        end = Cursor(runs=self._ends.runs()) if is_of_runs else Cursor(self._ends.streams())
        self._last = now, end
        return end


def _after(read: Mapping[Name, Bookmark], ends: Mapping[Name, Bookmark]) -> dict[Name, Bookmark]:
    """The ends of all logs, behind what was read.

    Raises `StaleBookmark` where a log is gone, or is shorter than it was: what comes back later
    would be read twice.
    """
    found = dict(ends)
    for name, place in read.items():
        end = ends.get(name)
        if end is None or (end.log_id == place.log_id and end.sequence < place.sequence):
            shown = name if isinstance(name, str) else "/".join(name)
            raise StaleBookmark(
                f"{shown}: the query has read its log up to {place.sequence}, and the log "
                f"{'is gone' if end is None else f'ends at {end.sequence}'}: an older state of the "
                "lake was put back. `singerlake check` shows what is missing; if it stays so, "
                "begin with a new checkpoint"
            )
        if (end.log_id, end.sequence) == (place.log_id, place.sequence):
            found[name] = place
    return found


def _offset(cursor: Cursor) -> Offset:
    return dict(json.loads(cursor.encode()))


def _cursor(offset: Offset) -> Cursor:
    """Raises `StaleBookmark` for an offset of another source or another table."""
    return Cursor.decode(json.dumps(offset).encode(), "the query's checkpoint")
