"""Record types and metadata as Arrow's, the same as Spark makes of its own types."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa

from singerlake.decode.rows import ROW_TYPES, TIME, about_row
from singerlake.format.record_type import Type

_ARROW: dict[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "long": pa.int64(),
    "double": pa.float64(),
    "timestamp": TIME,
    "date": pa.date32(),
}


def to_arrow(kind: Type) -> pa.DataType:
    """The Arrow type; a type that only ever holds null is a string."""
    if kind.kind == "decimal":
        return pa.decimal128(kind.precision, kind.scale)
    if kind.kind == "struct":
        return pa.struct([pa.field(name, to_arrow(inner)) for name, inner in kind.fields])
    if kind.items is not None:
        inner = to_arrow(kind.items)
        if kind.kind == "array":
            return pa.list_(pa.field("element", inner))
        return pa.map_(pa.string(), inner)
    return _ARROW.get(kind.kind, pa.string())


def metadata_type(name: str) -> pa.DataType:
    """Of a metadata column."""
    if name == "_committed":
        return TIME
    return pa.int64() if name == "_sequence" else ROW_TYPES.get(about_row(name), pa.string())


def arrow_schema(columns: Iterable[tuple[str, Type]], metadata: Iterable[str]) -> pa.Schema:
    """Of the batches of a read."""
    fields = [pa.field(name, to_arrow(kind)) for name, kind in columns]
    return pa.schema([*fields, *(pa.field(name, metadata_type(name)) for name in metadata)])
