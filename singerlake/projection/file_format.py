"""The file formats of a projection: each writes batches to a file, and reads them back."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO, Protocol, cast

import numpy as np
import pyarrow as pa
from isal import igzip
from pyarrow import csv, orc
from pyarrow import parquet as pq

from singerlake.projection import avro, json_value

ROWS = 10_000

CSV_BLOCK = 1024 * 1024
"""Bytes of a csv file that are read at once, if no row is longer."""

ROW_GROUP = 64 * 1024 * 1024
"""Bytes in memory that make a row group of a parquet file."""


class Sink(Protocol):
    """An open file of one format; it does not close the file object that it writes to."""

    def write(self, batch: Any) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True)
class Format:
    """How to write and read one kind of file.

    `read` takes the schema that the file was written with, and gives batches of it; where only
    some columns are wanted, it may leave out the others.
    """

    ending: str
    open: Callable[[BinaryIO, Any], Sink]
    read: Callable[[BinaryIO, Any, Sequence[str] | None], Iterator[Any]]


def _gzip(file: BinaryIO, mode: str) -> BinaryIO:
    made: Any = igzip
    return cast(BinaryIO, made.IGzipFile(fileobj=file, mode=mode, mtime=0))


class _Parquet:
    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._writer = pq.ParquetWriter(file, schema, compression="zstd")
        self._waiting: list[Any] = []
        self._size = 0

    def write(self, batch: Any) -> None:
        # Each write is a row group, and small ones are slow to read.
        self._waiting.append(batch)
        self._size += batch.nbytes
        if self._size >= ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting, self._size = [], 0

    def close(self) -> None:
        self._flush()
        self._writer.close()


def _read_parquet(
    file: BinaryIO, schema: Any, columns: Sequence[str] | None = None
) -> Iterator[Any]:
    # To Arrow, a name with a dot in it is a place within a struct.
    some = columns is not None and not any("." in name for name in schema.names)
    yield from pq.ParquetFile(file).iter_batches(ROWS, columns=columns if some else None)


class _Orc:
    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._writer = orc.ORCWriter(file, compression="zstd")
        self._writer.write(schema.empty_table())

    def write(self, batch: Any) -> None:
        # A copy: of a slice, the writer would take the structs of other rows.
        whole = batch.take(np.arange(batch.num_rows))
        self._writer.write(pa.Table.from_batches([whole]))

    def close(self) -> None:
        self._writer.close()


def _read_orc(file: BinaryIO, schema: Any, columns: object = None) -> Iterator[Any]:
    found = orc.ORCFile(file)
    for stripe in range(found.nstripes):
        yield found.read_stripe(stripe)


class _Csv:
    """Nested values are JSON texts. Null is nothing at all, and an empty text is `""`."""

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._file = _gzip(file, "wb")
        self._writer = csv.CSVWriter(self._file, _flat(schema))

    def write(self, batch: Any) -> None:
        columns = [
            json_value.texts(column) if json_value.is_nested(column.type) else column
            for column in batch.columns
        ]
        self._writer.write(pa.RecordBatch.from_arrays(columns, schema=_flat(batch.schema)))

    def close(self) -> None:
        self._writer.close()
        self._file.close()


def _flat(schema: Any) -> Any:
    return pa.schema(
        [
            pa.field(field.name, pa.string()) if json_value.is_nested(field.type) else field
            for field in schema
        ]
    )


def _read_csv(file: BinaryIO, schema: Any, columns: object = None) -> Iterator[Any]:
    parse = csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    convert = csv.ConvertOptions(
        column_types=_flat(schema),
        null_values=[""],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    names = None  # of the first block, which begins with them
    for block in _csv_rows(_gzip(file, "rb")):
        read = csv.ReadOptions(column_names=names, block_size=len(block) + 1, use_threads=False)
        table = csv.read_csv(pa.BufferReader(block), read, parse, convert)
        names = table.column_names
        for batch in table.to_batches(ROWS):
            columns = [
                _parsed(column, field.type) if json_value.is_nested(field.type) else column
                for column, field in zip(batch.columns, schema, strict=True)
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=schema)


def _csv_rows(file: BinaryIO) -> Iterator[bytes]:
    """Blocks of whole rows, however long a row is: Arrow's own blocks have to be longer than it."""
    rest = b""
    while chunk := file.read(max(CSV_BLOCK, len(rest))):
        rest += chunk
        end = _end_of_rows(rest)
        if end:
            yield rest[:end]
            rest = rest[end:]
    if rest:
        yield rest


def _end_of_rows(text: bytes) -> int:
    """Where the last whole row ends: at a line's end with all quotes before it in pairs."""
    quotes, after = text.count(b'"'), len(text)
    while (end := text.rfind(b"\n", 0, after)) >= 0:
        quotes -= text.count(b'"', end, after)
        if quotes % 2 == 0:
            return end + 1
        after = end
    return 0


def _parsed(column: Any, kind: Any) -> Any:
    values = [None if text is None else json_value.decode(text) for text in column.to_pylist()]
    return pa.array([json_value.typed(value, kind) for value in values], kind)


class _Json:
    """One object on each line."""

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._file = _gzip(file, "wb")

    def write(self, batch: Any) -> None:
        self._file.write(b"".join(json_value.encode(row) + b"\n" for row in json_value.rows(batch)))

    def close(self) -> None:
        self._file.close()


def _read_json(file: BinaryIO, schema: Any, columns: object = None) -> Iterator[Any]:
    whole = pa.struct(list(schema))
    block: list[dict[str, Any]] = []
    for line in _gzip(file, "rb"):
        block.append(json_value.typed(json_value.decode(line), whole))
        if len(block) == ROWS:
            yield pa.RecordBatch.from_pylist(block, schema)
            block = []
    if block:
        yield pa.RecordBatch.from_pylist(block, schema)


FORMATS = {
    "parquet": Format(".parquet", _Parquet, _read_parquet),
    "csv": Format(".csv.gz", _Csv, _read_csv),
    "avro": Format(".avro", avro.AvroSink, avro.read),
    "orc": Format(".orc", _Orc, _read_orc),
    "json": Format(".json.gz", _Json, _read_json),
}
