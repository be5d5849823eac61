"""Avro files by fastavro: Spark's own writer is not among what pip installs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import fastavro
import pyarrow as pa

from singerlake.projection import json_value

NAME = "singerlake.name"
"""A field's true name, where Avro's rules for names do not allow it."""

_PLAIN = re.compile(r"[^A-Za-z0-9_]")
_SIMPLE = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "long"),
    (pa.types.is_float32, "float"),
    (pa.types.is_floating, "double"),
    (pa.types.is_date, {"type": "int", "logicalType": "date"}),
    (pa.types.is_binary, "bytes"),
)


def schema_of(schema: Any) -> dict[str, Any]:
    """The Avro schema of an Arrow one: every field may be null."""
    return _record(schema, "row", set())


class AvroSink:
    """Writes batches to an Avro file."""

    def __init__(self, file: BinaryIO, schema: Any) -> None:
        self._schema = schema_of(schema)
        self._writer: Any = fastavro.write.Writer(
            file, fastavro.parse_schema(self._schema), codec="deflate"
        )

    def write(self, batch: Any) -> None:
        for row in json_value.rows(batch):
            self._writer.write(_renamed(row, self._schema))

    def close(self) -> None:
        self._writer.flush()


def read(file: BinaryIO, schema: Any, columns: object = None, rows: int = 10_000) -> Iterator[Any]:
    """The file's rows as batches of an Arrow schema."""
    shape = schema_of(schema)
    block: list[dict[str, Any]] = []
    for row in fastavro.reader(file):
        block.append(_named(row, shape))
        if len(block) == rows:
            yield pa.RecordBatch.from_pylist(block, schema)
            block = []
    if block:
        yield pa.RecordBatch.from_pylist(block, schema)


def _record(fields: Any, name: str, records: set[str]) -> dict[str, Any]:
    """`records` are the names of all records of the schema: Avro allows each once."""
    name = _unique(name, records)
    made: list[dict[str, Any]] = []
    taken: set[str] = set()
    for field in fields:
        safe = _safe(field.name, taken)
        kind = _type(field.type, f"{name}_{safe}", records)
        row = {"name": safe, "type": ["null", kind], "default": None}
        made.append(row if safe == field.name else {**row, NAME: field.name})
    return {"type": "record", "name": name, "fields": made}


def _safe(name: str, taken: set[str]) -> str:
    """A name that Avro allows, and no other field of the record has."""
    safe = _PLAIN.sub("_", name)
    if not safe or safe[0].isdigit():
        safe = f"_{safe}"
    return _unique(safe, taken)


def _unique(name: str, taken: set[str]) -> str:
    """The name, with a number behind it where it is taken; it is taken from then on."""
    unique, count = name, 1
    while unique in taken:
        count += 1
        unique = f"{name}_{count}"
    taken.add(unique)
    return unique


def _type(kind: Any, name: str, records: set[str]) -> Any:
    if pa.types.is_struct(kind):
        return _record(kind, name, records)
    if pa.types.is_map(kind):
        return {"type": "map", "values": ["null", _type(kind.item_type, name, records)]}
    if pa.types.is_list(kind):
        return {"type": "array", "items": ["null", _type(kind.value_type, name, records)]}
    if pa.types.is_timestamp(kind):
        logical = "timestamp-micros" if kind.tz else "local-timestamp-micros"
        return {"type": "long", "logicalType": logical}
    if pa.types.is_decimal(kind):
        return {
            "type": "bytes",
            "logicalType": "decimal",
            "precision": kind.precision,
            "scale": kind.scale,
        }
    return next((avro for is_such, avro in _SIMPLE if is_such(kind)), "string")


def _renamed(value: Any, shape: Any) -> Any:
    """The value with Avro's names in the place of the true ones."""
    return _walk(value, shape, lambda field: (field.get(NAME, field["name"]), field["name"]))


def _named(value: Any, shape: Any) -> Any:
    """The value with the true names in the place of Avro's."""
    return _walk(value, shape, lambda field: (field["name"], field.get(NAME, field["name"])))


def _walk(value: Any, shape: Any, names: Any) -> Any:
    if value is None or not isinstance(shape, dict):
        return value
    if shape["type"] == "record":
        pairs = [(*names(field), field["type"][1]) for field in shape["fields"]]
        return {to: _walk(value.get(of), inner, names) for of, to, inner in pairs}
    if shape["type"] == "map":
        return {key: _walk(item, shape["values"][1], names) for key, item in value.items()}
    if shape["type"] == "array":
        return [_walk(item, shape["items"][1], names) for item in value]
    return value
