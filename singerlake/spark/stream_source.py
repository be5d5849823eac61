"""Reading a stream as it grows: the commit feed as a Spark streaming source.

An offset is a place in the log: its id, and the last sequence number that was read. Spark keeps
offsets in the query's checkpoint and asks for the rows between two of them, the same rows each
time: so a restart gives each record once.
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
from singerlake.lake.feed import position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.log import Selection
from singerlake.lake.snapshot import Snapshot
from singerlake.spark import options as read_options
from singerlake.spark import plan
from singerlake.spark.files import FileReader
from singerlake.spark.options import ReadOptions

Offset = dict[str, Any]


def offset_of(log_id: str, sequence: int) -> Offset:
    return {"log_id": log_id, "sequence": sequence}


def bookmark_of(offset: Offset) -> Bookmark:
    return Bookmark(str(offset["log_id"]), int(offset["sequence"]))


def bounded(
    files: Iterator[File], start: int, last: int, most_files: int | None, most_bytes: int | None
) -> int:
    """The sequence number to read up to: within the bounds, but at least one file."""
    end, size = start, 0
    for count, file in enumerate(files, start=1):
        size += file.bytes
        if count > 1 and (
            (most_files is not None and count > most_files)
            or (most_bytes is not None and size > most_bytes)
        ):
            return end
        end = file.sequence
    return last


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
                "the options runs, asOf and sequences are for batch reads: a streaming query reads "
                "every commit once. Use since, or read with spark.read"
            )
        self._options, self._known = options, known
        self._files = FileReader(options, wanted, schema)
        self._target: int | None = None

    def initialOffset(self) -> Offset:  # noqa: N802
        manifest, since = self._take().manifest, self._options.since
        if since > manifest.last_sequence:
            raise ConfigError(
                f"the option since is {since}, and the last commit of stream "
                f"{manifest.stream!r} is {manifest.last_sequence}"
            )
        return offset_of(manifest.log_id, since)

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        options = self._options
        if options.max_files_per_trigger is not None:
            return ReadMaxFiles(options.max_files_per_trigger)
        if options.max_bytes_per_trigger is not None:
            return ReadMaxBytes(options.max_bytes_per_trigger)
        return ReadAllAvailable()

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._target = self._take().manifest.last_sequence

    def reportLatestOffset(self) -> Offset:  # noqa: N802
        manifest = self._take().manifest
        return offset_of(manifest.log_id, manifest.last_sequence)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: N802
        stream = self._stream(start)
        begin = int(start["sequence"])
        bounds = (self._target, self._options.until, stream.manifest.last_sequence)
        last = min(number for number in bounds if number is not None)
        if last <= begin:
            return start
        if not isinstance(limit, ReadAllAvailable):  # Spark's limit holds one of the two bounds
            options = self._options
            files = stream.files(Selection(since=begin, until=last))
            last = bounded(
                files, begin, last, options.max_files_per_trigger, options.max_bytes_per_trigger
            )
        return offset_of(stream.manifest.log_id, last)

    def partitions(self, start: Offset, end: Offset) -> list[InputPartition]:
        options = self._options
        begin, last = int(start["sequence"]), int(end["sequence"])
        if last <= begin:
            return []
        stream = self._stream(end)
        chosen = Selection(begin, last, options.start, options.end)
        files = [file for file in stream.files(chosen) if self._is_chosen(file, stream)]
        parallelism = read_options.parallelism(options)
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

    def _stream(self, offset: Offset) -> Snapshot:
        """The stream as it is now. Raises `StaleBookmark` where its numbers were given anew."""
        stream = self._take()
        if offset["log_id"]:  # there was no log yet when the query began, and nothing was read
            position.require(stream, bookmark_of(offset))
        return stream

    def _take(self) -> Snapshot:
        """Raises `MissingManifest`: numbers that a listing gives are not those of a log."""
        stream = take(self._options.store(), self._options.request)
        if stream.by_listing:
            raise MissingManifest(
                f"{stream.store.url}/{stream.keys.manifest}: there are files and no manifest, "
                "which a stream query needs; `singerlake rebuild` makes it again"
            )
        return stream
