"""Schemas that grow: one that holds the values of two, and batches brought to it.

To Spark, a column of texts and one of JSON texts are both strings. Which of the two it is stands
in the metadata of its field (`KIND`): where texts are to be read beside JSON, they are JSON too.
"""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import datetime, time, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark

from singerlake.spark import plain, types
from singerlake.spark.types import Type

KIND = "singerlake.kind"
"""What the strings of a field are, also those in its arrays and maps: `text`, `json`, or `null`
where the schema allows nothing else. Fields of documents that are older than this lack it."""

_MARKS = {"string": "text", "text": "text", "json": "json", "null": "null"}
_MARKED = {"text": types.TEXT, "json": types.JSON, "null": types.NULL}


def marked(schema: spark.StructType, record: Type) -> spark.StructType:
    """The schema, with what each string of the record is."""
    kinds = dict(record.fields)
    return spark.StructType(
        [
            _marked_field(field, kinds[field.name]) if field.name in kinds else field
            for field in schema
        ]
    )


def _marked_field(field: spark.StructField, kind: Type) -> spark.StructField:
    mark = _MARKS.get(_innermost(kind).kind)
    metadata = {KIND: mark} if mark else None
    return spark.StructField(field.name, _marked(field.dataType, kind), field.nullable, metadata)


def _marked(data_type: spark.DataType, kind: Type) -> spark.DataType:
    if isinstance(data_type, spark.StructType):
        return marked(data_type, kind)
    if isinstance(data_type, spark.ArrayType) and kind.items is not None:
        return spark.ArrayType(_marked(data_type.elementType, kind.items))
    if isinstance(data_type, spark.MapType) and kind.items is not None:
        return spark.MapType(data_type.keyType, _marked(data_type.valueType, kind.items))
    return data_type


def _innermost(kind: Type) -> Type:
    return kind if kind.items is None else _innermost(kind.items)


def record_of(schema: spark.StructType) -> Type:
    """The record type of a schema; a string that has no mark is a `string`."""
    return types.struct(
        {field.name: _type(field.dataType, field.metadata.get(KIND, "")) for field in schema}
    )


def _type(data_type: spark.DataType, mark: str) -> Type:
    if isinstance(data_type, spark.StructType):
        return record_of(data_type)
    if isinstance(data_type, spark.ArrayType):
        return types.array(_type(data_type.elementType, mark))
    if isinstance(data_type, spark.MapType):
        return types.mapping(_type(data_type.valueType, mark))
    if isinstance(data_type, spark.StringType):
        return _MARKED.get(mark, types.STRING)
    return types.from_spark(data_type) or types.STRING


def merged(before: spark.StructType, now: spark.StructType) -> spark.StructType:
    """The narrowest schema that holds the rows of both: all columns, the wider types."""
    both = types.union([record_of(before), record_of(now)])
    schema = types.to_spark(both)
    assert isinstance(schema, spark.StructType)
    return marked(schema, both)


def conformed(batch: Any, schema: Any, was: Type, now: Type) -> Any:
    """The batch, whose record type `was`, with the columns of the schema, whose record type is
    `now`: null where it has none, converted where it must be."""
    kinds = dict(was.fields)
    columns = [
        _converted(batch.column(at), field.type, kinds[field.name], kind)
        if (at := batch.schema.get_field_index(field.name)) >= 0
        else pa.nulls(batch.num_rows, field.type)
        for field, (_, kind) in zip(schema, now.fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _converted(column: Any, arrow: Any, was: Type, now: Type) -> Any:
    if not _is_told_anew(was, now):
        # A struct with a new field, say, cannot be cast: value by value, then.
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return column if column.type == arrow else column.cast(arrow)
    values = column.to_pylist(maps_as_pydicts="strict")
    return pa.array([_told(value, was, now) for value in values], arrow)


def _is_told_anew(was: Type, now: Type) -> bool:
    """Whether a value within becomes a text or JSON: Arrow would write it in its own way."""
    if was.kind == now.kind == "struct":
        kinds = dict(was.fields)
        return any(name in kinds and _is_told_anew(kinds[name], new) for name, new in now.fields)
    if was.kind == now.kind and was.items is not None and now.items is not None:
        return _is_told_anew(was.items, now.items)
    # Nobody knows what a string without a mark is: it stays.
    return was.kind == "null" or (now.kind in _MARKS and was.kind not in ("string", now.kind))


def _told(value: Any, was: Type, now: Type) -> Any:
    """A value of one type as one of a wider type."""
    if value is None:
        return None
    if now.kind in _MARKS:
        as_json = now.kind == "json" and was.kind not in ("json", "null", "string")
        return plain.encode(value).decode() if as_json else _text(value)
    if was.kind == "null":
        return None  # It did not fit its schema, and nobody knows how it fits this one.
    if now.kind == "struct":
        kinds = dict(was.fields)
        return {n: _told(value.get(n), kinds.get(n, types.NULL), new) for n, new in now.fields}
    if was.items is not None and now.items is not None:
        if now.kind == "map":
            return [(key, _told(item, was.items, now.items)) for key, item in value.items()]
        return [_told(item, was.items, now.items) for item in value]
    return _wider(value, now)


def _wider(value: Any, now: Type) -> Any:
    if now.kind == "double":
        return float(value)
    if now.kind == "timestamp" and not isinstance(value, datetime):
        return datetime.combine(value, time(), timezone.utc)
    return value


def _text(value: Any) -> str:
    """A string stands for itself, anything else as its JSON text; a time without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return plain.encode(value).decode().strip('"')
