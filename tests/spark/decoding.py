"""Messages decoded without Spark, by the block parser or by the tolerant one alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from singerlake.spark import types
from singerlake.spark.decode import Decoder
from singerlake.spark.files import arrow_schema
from singerlake.spark.types import Type
from singerlake.spark.wanted import FileFacts, Wanted
from tests.spark.lakes import record_line, schema_line

METADATA = ("_position", "_record", "_corrupt_record")


def decoder(columns: dict[str, Type], failfast: bool = False, metadata: Any = METADATA) -> Decoder:
    fields = [StructField(name, types.to_spark(kind), True) for name, kind in columns.items()]
    wanted = Wanted(tuple(columns.items()), metadata, failfast)
    names = {
        "_position": types.LONG,
        "_time_extracted": types.TIMESTAMP,
        "_version": types.LONG,
        "_misfits": types.mapping(types.STRING),
    }
    fields += [
        StructField(name, types.to_spark(names.get(name, types.STRING)), True) for name in metadata
    ]
    return Decoder(wanted, arrow_schema(StructType(fields)))


def decoded(
    columns: dict[str, Type], records: list[str], tolerant: bool = False, failfast: bool = False
) -> list[dict[str, Any]]:
    return rows_of(columns, list(map(record_line, records)), METADATA, tolerant, failfast)


def rows_of(
    columns: dict[str, Type],
    messages: list[bytes],
    metadata: tuple[str, ...],
    tolerant: bool = False,
    failfast: bool = False,
) -> list[dict[str, Any]]:
    lines = [schema_line({}), *messages]
    made = decoder(columns, failfast, metadata)
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    batches = list(made.batches(FileFacts("the file", {}), [b"\n".join(lines) + b"\n"]))
    return pa.Table.from_batches(batches, made.schema).to_pylist(maps_as_pydicts="strict")
