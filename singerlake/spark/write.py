"""Writing a DataFrame into a lake: tasks upload Singer files, the driver commits them all at once.

A file becomes visible by the one commit, and not before. Every upload is noted first
(`singerlake.lake.uploads`), so that nobody else takes it for a lost commit. Tasks delete nothing:
the driver knows by the notes what failed and speculative attempts have uploaded, and removes it.
What comes later still is noted, and so never part of the lake.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSourceArrowWriter, WriterCommitMessage

from singerlake.decode.request import METADATA
from singerlake.errors import ConfigError
from singerlake.format import catalogue
from singerlake.format.manifest import File
from singerlake.format.marker import Marker
from singerlake.format.nearest import did_you_mean
from singerlake.format.schema import Schema
from singerlake.lake import clock, lock, markers, registration, registry, uploads
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.identity import new_writer_id
from singerlake.lake.lock import LockTimes
from singerlake.lake.markers import Known
from singerlake.lake.write_guard import guarded, require_writable
from singerlake.spark import encode, singer_types
from singerlake.spark.task_files import TaskFiles, Uploaded, WriteJob, WriteOptions
from singerlake.spark.write_run import end_run
from singerlake.store import Promise, Store

logger = logging.getLogger("singerlake.spark")

STOPPING = 5.0
"""Seconds in which tasks of a failed job end: Spark kills their Python workers after two."""

_MESSAGE_TYPES: dict[str, tuple[str, tuple[type[spark_types.DataType], ...]]] = {
    encode.TIME: ("a timestamp", (spark_types.TimestampType, spark_types.TimestampNTZType)),
    encode.VERSION: ("an integer", (spark_types.IntegralType,)),
}
"""What the columns must be that go to the messages, not to the records."""


class LakeWriter(DataSourceArrowWriter):
    """One write of a DataFrame. Metadata columns are not part of the records."""

    def __init__(
        self, options: WriteOptions, schema: spark_types.StructType, overwrite: bool
    ) -> None:
        if overwrite:
            raise ConfigError('a lake keeps what it has: use .mode("append")')
        _require_message_types(schema)
        fields = [field for field in schema.fields if field.name not in METADATA]
        names = frozenset(field.name for field in fields)
        missing = [key for key in options.key_properties if key not in names]
        if missing:
            raise ConfigError(
                f"key_properties: there is no column {', '.join(missing)}."
                f"{did_you_mean(missing[0], names)}"
            )
        self.options, self._names = options, names
        schema_of_records = Schema(singer_types.of_struct(fields), options.key_properties)
        store = guarded(options.store())
        require_writable(store)
        store.promise()
        self._job = WriteJob(
            options, store, schema_of_records, new_writer_id(), uploads.new_job(), clock.now()
        )
        self._known = Known()
        self._since = self._open()

    def _open(self) -> Bookmark:
        """See where the stream's log ends. The manifest comes before the first file, and the tap
        before both, so a first write that fails leaves them: a stream without records."""
        store = self._job.store
        options = self.options
        registry.register_taps(store, [options.tap])
        self._known.catalogue = registry.find_catalogue(store, options.tap)
        since = uploads.begin(store, options.keys, self._job.schema, self._job.writer_id)
        end = Marker(since.log_id, since.sequence)
        markers.require_writable(store, options.keys, end, self._known.marker(options.stream))
        return since

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Uploaded:
        """On an executor: upload the task's rows."""
        context = TaskContext.get()
        task = TaskFiles(self._job, 0 if context is None else context.partitionId())
        try:
            stream, moment = self.options.stream, self._job.time
            for lines in encode.encode(iterator, stream, self._names, moment):
                task.add(lines)
            return Uploaded(tuple(task.finish()))
        finally:
            task.close()

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver: one commit for the files of all tasks.

        Once they are committed nothing is raised: Spark would tell the user that the write failed.
        """
        store, options, files = self._job.store, self.options, _files(messages)
        # No file is ever without an entry, and a commit that is refused replaces none.
        late = bool(files) and self._is_registered()
        if not late:
            self._register(store)
        if files:
            self._commit(store, files)
        if late:
            with _committed("the catalogue has the schema of the write before"):
                self._register(store)
        with _committed("not all it left was removed"):
            committed = {file.path for file in files}
            uploads.clear(store, options.keys, self._job.id, committed, self._since)
        with _committed("its run has no document"):
            end_run(self._job, self._since, "complete", self._known)

    def _is_registered(self) -> bool:
        """When the write began: then the entry is that of the write before."""
        found = self._known.catalogue
        return found is not None and self.options.stream in found.entries

    def _register(self, store: Store) -> None:
        tap, stream = self.options.tap, self.options.stream
        entry = catalogue.entry(stream, self._job.schema)
        registration.register(store, tap, {stream: entry}, None, self._known)

    def _commit(self, store: Store, files: list[File]) -> None:
        job, keys, times = self._job, self.options.keys, LockTimes()
        schema_hash, digest = job.schema.hash(), job.schema.digest()
        done = False
        try:
            with lock.held(store, keys.lock(schema_hash), job.writer_id, times):
                uploads.commit_job(
                    store,
                    keys,
                    job.id,
                    files,
                    {schema_hash: digest},
                    self._since,
                    job.writer_id,
                    times,
                )
                done = True
        except Exception as error:
            if not done:
                raise
            logger.warning("the write is committed, but its lock was not released: %s", error)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """On the driver: remove what the tasks of a failed job have uploaded.

        Spark calls this too after a commit whose outcome is unknown, and it does not wait for the
        tasks that it has told to stop. What cannot be removed is no part of the lake.
        """
        store, job = self._job.store, self._job
        time.sleep(STOPPING)
        try:
            # Elsewhere a put may yet arrive that names them.
            if store.promise() is Promise.CONDITIONAL:
                uploads.withdraw(store, self.options.keys, [job.id], job.writer_id, LockTimes())
        except Exception as error:
            logger.warning("could not remove what a failed write has uploaded: %s", error)
        try:
            end_run(job, self._since)
        except Exception as error:
            logger.warning("the run of a failed write has no document: %s", error)


@contextmanager
def _committed(what: str) -> Iterator[None]:
    """What comes after a commit: tell of its failure, and go on."""
    try:
        yield
    except Exception as error:
        logger.warning("the write is committed, but %s: %s", what, error)


def _require_message_types(schema: spark_types.StructType) -> None:
    for field in schema.fields:
        expected, kinds = _MESSAGE_TYPES.get(field.name, ("", ()))
        if kinds and not isinstance(field.dataType, (*kinds, spark_types.NullType)):
            raise ConfigError(
                f"the column {field.name} is {field.dataType.simpleString()}: expected {expected}; "
                "cast it, or give it another name"
            )


def _files(messages: Sequence[WriterCommitMessage | None]) -> list[File]:
    return [file for each in messages if isinstance(each, Uploaded) for file in each.files]
