"""Staging: executors write a projection's files, through the store, under names of their own.

Every attempt of a task writes files that no other attempt does, and only what a task that
succeeded reports is ever published: a task may be killed, repeated or run twice.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, BinaryIO

import msgspec
import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from singerlake.decode.misfit import Misfit, Tally
from singerlake.errors import AlreadyExists
from singerlake.format.record_type import Type, struct
from singerlake.lake.scratch import temporary_folder
from singerlake.projection import untyped
from singerlake.projection.document import PublishedFile, PublishedKeys
from singerlake.projection.file_format import FORMATS, Sink
from singerlake.spark import layout
from singerlake.spark.observed import MISFITS
from singerlake.store import Store, disk

FILE_BYTES = 256 * 1024 * 1024
"""A file that has grown past this is closed, and another one begun."""

_misfits = msgspec.json.Decoder(dict[str, Misfit])
_untyped = msgspec.json.Decoder(dict[str, int])
_REPORT = (
    "task int, part int, path string, records long, bytes long, checksum string, "
    "partition array<string>, misfits string, untyped string"
)
_REPORT_ARROW = pa.schema(
    [
        ("task", pa.int32()),
        ("part", pa.int32()),
        ("path", pa.string()),
        ("records", pa.int64()),
        ("bytes", pa.int64()),
        ("checksum", pa.string()),
        ("partition", pa.list_(pa.string())),
        ("misfits", pa.string()),
        ("untyped", pa.string()),
    ]
)


@dataclass(frozen=True)
class Staging:
    """Where a run writes its files, and how: what all of its tasks have to know.

    `columns` are those to write; the misfits of a row are counted, whether they are written or not.
    `record` has the types of the record's own columns.
    """

    store: Store
    keys: PublishedKeys
    run_id: str
    format: str
    labels: tuple[str, ...]
    columns: tuple[str, ...]
    record: Mapping[str, Type]
    file_bytes: int = FILE_BYTES


@dataclass(frozen=True)
class Staged:
    """What a run wrote, and the misfits and the untyped values of its rows."""

    files: tuple[PublishedFile, ...]
    misfits: Tally
    untyped: dict[str, int] = field(default_factory=dict)


NOTHING = Staged((), Tally())


def stage(frame: DataFrame, staging: Staging, since: int, until: int) -> Staged:
    """Write the arranged rows to files below `data/<run_id>/`; nothing names them yet.

    They are what was committed after `since`, up to `until`.
    """
    schema = to_arrow_schema(frame.schema, timezone="UTC")
    work = partial(_write, staging, schema)
    reports = sorted(
        _numbered(frame).mapInArrow(work, _REPORT).collect(), key=lambda row: (row.task, row.part)
    )
    misfits, counts = Tally(), Counter(dict.fromkeys(untyped.places(struct(staging.record)), 0))
    for row in reports:
        misfits.merge(_misfits.decode(row.misfits or "{}"))
        counts.update(_untyped.decode(row.untyped or "{}"))
    files = tuple(
        PublishedFile(
            path=row.path,
            records=row.records,
            bytes=row.bytes,
            checksum=row.checksum,
            partition=dict(zip(staging.labels, row.partition, strict=True)),
            since=since,
            until=until,
        )
        for row in reports
        if row.path
    )
    return Staged(files, misfits, dict(counts))


def _write(staging: Staging, schema: Any, batches: Iterator[Any]) -> Iterator[Any]:
    """What a task does: write its rows, and report the files."""
    with temporary_folder() as folder:
        written = pa.schema([schema.field(name) for name in staging.columns])
        task = _Task(staging, written, Path(folder), _partition_id())
        for batch in batches:
            named = batch.rename_columns(schema.names)
            task.count(named)
            for values, rows in split(named):
                task.write(values, rows.select(written.names).cast(written))
        task.close()
        task.report_counts()
    yield pa.RecordBatch.from_pylist(task.reports, _REPORT_ARROW)


def _numbered(frame: DataFrame) -> DataFrame:
    """The columns by their place: Spark takes a dot in a name for a path into the column."""
    return frame.toDF(*(f"c{place}" for place in range(len(frame.columns))))


def split(batch: Any) -> Iterator[tuple[tuple[str | None, ...], Any]]:
    """The batch in stretches of rows with the same partition values, without that column."""
    at = batch.schema.get_field_index(layout.PARTITION)
    values = map(tuple, batch.column(at).to_pylist())
    rows = batch.remove_column(at)
    start = 0
    for value, stretch in groupby(values):
        length = sum(1 for _ in stretch)
        yield value, rows.slice(start, length)
        start += length


def _partition_id() -> int:
    context = TaskContext.get()
    return context.partitionId() if context else 0


class _Task:
    """Writes one file at a time: the rows come sorted by partition."""

    def __init__(self, staging: Staging, schema: Any, folder: Path, number: int) -> None:
        self._staging, self._schema = staging, schema
        self._folder, self._number = folder, number
        self._values: tuple[str | None, ...] = ()
        self._records = 0
        self._sink: Sink | None = None
        self._file: BinaryIO | None = None
        self._misfits, self._untyped = Tally(), Counter[str]()
        self.reports: list[dict[str, Any]] = []

    def count(self, batch: Any) -> None:
        untyped.count(batch, self._staging.record.items(), self._untyped)
        misfits = batch.column(MISFITS)
        if misfits.null_count < len(misfits):
            for row in misfits.drop_null():
                self._misfits.add(row.as_py())

    def report_counts(self) -> None:
        if self._misfits.total or self._untyped.total():
            found = {"misfits": self._misfits.found, "untyped": self._untyped}
            texts = {name: msgspec.json.encode(counts).decode() for name, counts in found.items()}
            self.reports.append({"task": self._number, "part": len(self.reports), **texts})

    def write(self, values: tuple[str | None, ...], rows: Any) -> None:
        if self._file and (values != self._values or self._file.tell() >= self._staging.file_bytes):
            self.close()
        if self._file is None or self._sink is None:
            self._values, self._records = values, 0
            self._file = (self._folder / "file").open("wb")
            self._sink = FORMATS[self._staging.format].open(self._file, self._schema)
        self._sink.write(rows)
        self._records += rows.num_rows

    def close(self) -> None:
        """Upload the file that is open, if one is."""
        if self._file is None or self._sink is None:
            return
        self._sink.close()
        self._file.close()
        self._file = self._sink = None
        staging, made = self._staging, self._folder / "file"
        part = len(self.reports)
        name = f"{self._number:05d}-{part:05d}-{uuid.uuid4().hex[:12]}"
        folder = layout.folder(staging.labels, self._values)
        path = f"data/{staging.run_id}/{folder}{name}{FORMATS[staging.format].ending}"
        report = {
            "task": self._number,
            "part": part,
            "path": path,
            "records": self._records,
            "bytes": made.stat().st_size,
            "checksum": f"sha256:{disk.file_hash(made)}",
            "partition": list(self._values),
        }
        # Nobody else has this name: where it is taken, only the answer was lost.
        with suppress(AlreadyExists):
            staging.store.create(staging.keys.under(path), made)
        made.unlink()
        self.reports.append(report)
