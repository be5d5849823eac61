"""Messages decoded, by the block parser or by the tolerant one alone."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from singerlake.decode.arrow_type import arrow_schema
from singerlake.decode.batch import Decoder
from singerlake.decode.request import FileFacts, Wanted
from singerlake.format.record_type import Type
from tests.spark.lakes import record_line, schema_line

METADATA = ("_position", "_record", "_corrupt_record")


def decoder(
    columns: dict[str, Type], limit: int | None = None, metadata: Any = METADATA
) -> Decoder:
    wanted = Wanted(tuple(columns.items()), metadata, limit)
    return Decoder(wanted, arrow_schema(columns.items(), metadata))


def decoded(
    columns: dict[str, Type], records: list[str], tolerant: bool = False, limit: int | None = None
) -> list[dict[str, Any]]:
    return rows_of(columns, list(map(record_line, records)), METADATA, tolerant, limit)


def rows_of(
    columns: dict[str, Type],
    messages: list[bytes],
    metadata: tuple[str, ...],
    tolerant: bool = False,
    limit: int | None = None,
) -> list[dict[str, Any]]:
    lines = [schema_line({}), *messages]
    made = decoder(columns, limit, metadata)
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    batches = list(made.batches(FileFacts("the file", {}), [b"\n".join(lines) + b"\n"]))
    return pa.Table.from_batches(batches, made.schema).to_pylist(maps_as_pydicts="strict")
