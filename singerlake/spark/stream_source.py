"""Reading a stream as it grows: increments as the micro-batches of a Spark query.

An offset is a bookmark. Spark keeps offsets in the query's checkpoint and asks for the rows between
two of them, the same rows each time: so a restart gives each record once. It takes any other offset
for a new batch, so where nothing is new it gets its own back.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxFiles,
    SupportsTriggerAvailableNow,
)

from singerlake.decode.request import Wanted
from singerlake.decode.stream import take
from singerlake.errors import ConfigError, MissingManifest
from singerlake.format.manifest import File
from singerlake.lake.feed import increment, position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.increment import Increment
from singerlake.lake.log import Selection
from singerlake.lake.snapshot import Snapshot
from singerlake.spark import options as read_options
from singerlake.spark import plan
from singerlake.spark.files import FileReader
from singerlake.spark.options import ReadOptions

Offset = dict[str, Any]


class LakeStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans micro-batches on the driver, reads files on the executors."""

    def __init__(
        self,
        options: ReadOptions,
        wanted: Wanted,
        schema: spark_types.StructType,
        known: frozenset[str] | None,
    ) -> None:
        """`known` are the schema versions that the schema was made of; None where it is given.

        Raises `ConfigError` for options that only a batch read can keep.
        """
        if not options.extent.is_everything or options.sequences is not None:
            raise ConfigError(
                "the options runs, runId, asOf and sequences are for batch reads: a streaming "
                "query reads every commit once. Use since, or read with spark.read"
            )
        self._options, self._known = options, known
        self._files = FileReader(options, wanted, schema)
        self._target: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        stream, since = self._take(), self._options.since
        if since > stream.last_sequence:
            raise ConfigError(
                f"the option since is {since}, and the last commit of stream "
                f"{stream.keys.stream!r} is {stream.last_sequence}"
            )
        return position.at(stream, since).to_json()

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        options = self._options
        if options.max_files_per_trigger is not None:
            return ReadMaxFiles(options.max_files_per_trigger)
        if options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(options.max_bytes_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._take().last_sequence

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        return position.end_of(self._take()).to_json()

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        options, new = self._options, self._increment(start)
        for end in (self._target, options.until):
            if end is not None:
                new = new.up_to(end)
        if not isinstance(limit, ReadAllAvailable):  # Spark's limit holds one of the two bounds
            new = new.capped(options.max_files_per_trigger, options.max_bytes_per_trigger)
        return start if new.until is None or new.is_empty else new.until.to_json()

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        options = self._options
        if int(end["sequence"]) <= int(start["sequence"]):
            return []
        new = self._increment(start, end)
        chosen = new.within(Selection(start=options.start, end=options.end))
        files = [file for file in new.files(chosen) if self._is_chosen(file, new.snapshot)]
        parallelism = read_options.parallelism(options.min_partitions)
        return plan.pack(
            files,
            chosen,
            options.max_partition_bytes,
            parallelism,
            with_runs="_run_id" in self._files.wanted.metadata,
        )

    def _is_chosen(self, file: File, stream: Snapshot) -> bool:
        """Raises `ConfigError` for a schema version that came after the query began: its columns
        are not those of the query, and leaving them out would lose values unseen."""
        if isinstance(self._options.schema_versions, tuple):
            return file.schema_hash in self._options.schema_versions
        if self._known is None or file.schema_hash in self._known:
            return True
        if self._options.schema_versions == "latest" and file.schema_hash != stream.schema_in_use:
            return False
        raise ConfigError(
            f"stream {self._options.stream!r} of {self._options.tap!r} has a new schema version "
            f"{file.schema_hash} since this query began: restart the query from its checkpoint to "
            "go on with the new columns"
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._files.batches(partition)

    def _increment(self, start: Offset, end: Offset | None = None) -> Increment:
        """Raises `StaleBookmark` where the offsets are none of this log, or of other files."""
        until = None if end is None else Bookmark.parse(end)
        return increment.take(self._take(), Bookmark.parse(start), until)

    def _take(self) -> Snapshot:
        """Raises `MissingManifest`: numbers that a listing gives are not those of a log."""
        stream = take(self._options.store(), self._options.request)
        if stream.by_listing:
            raise MissingManifest(
                f"{stream.store.url}/{stream.keys.manifest}: there are files and no manifest, "
                "which a stream query needs; `singerlake rebuild` makes it again"
            )
        return stream
