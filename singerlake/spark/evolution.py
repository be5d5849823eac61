"""Schemas that grow: one that holds the values of two. Strings are marked, see
`projection.schema`."""

from __future__ import annotations

from pyspark.sql import types as spark

from singerlake.format import record_type as types
from singerlake.format.record_type import Type
from singerlake.projection import schema as schemas
from singerlake.projection.schema import KIND
from singerlake.spark.spark_type import to_spark

_MARKS = {"string": "text", "text": "text", "json": "json", "null": "null"}


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
    return schemas.record_of(schema.jsonValue())


def merged(before: spark.StructType, now: spark.StructType) -> spark.StructType:
    """The narrowest schema that holds the rows of both: all columns, the wider types."""
    both = types.union([record_of(before), record_of(now)])
    schema = to_spark(both)
    assert isinstance(schema, spark.StructType)
    return marked(schema, both)
