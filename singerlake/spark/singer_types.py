"""From a DataFrame's schema back to a Singer schema, for what Spark writes into a lake."""

from __future__ import annotations

from typing import Any

from pyspark.sql import types as spark

from singerlake.errors import ConfigError

_PLAIN: list[tuple[type[spark.DataType], dict[str, Any]]] = [
    (spark.BooleanType, {"type": "boolean"}),
    (spark.IntegralType, {"type": "integer"}),
    (spark.FractionalType, {"type": "number"}),
    (spark.StringType, {"type": "string"}),
    (spark.CharType, {"type": "string"}),
    (spark.VarcharType, {"type": "string"}),
    (spark.TimestampType, {"type": "string", "format": "date-time"}),
    (spark.TimestampNTZType, {"type": "string", "format": "date-time"}),
    (spark.DateType, {"type": "string", "format": "date"}),
    (spark.BinaryType, {"type": "string", "contentEncoding": "base64"}),
    (spark.NullType, {"type": "null"}),
]


def of(data_type: spark.DataType, nullable: bool = True, path: str = "") -> dict[str, Any]:
    """The JSON Schema of a column. Raises `ConfigError` for a type that JSON has no form for."""
    schema = _of(data_type, path)
    kind = schema["type"]
    return {**schema, "type": ["null", kind]} if nullable and kind != "null" else schema


def _of(data_type: spark.DataType, path: str) -> dict[str, Any]:
    if isinstance(data_type, spark.DecimalType):
        # As text, because a JSON number may be rounded by whoever reads it.
        digits = {"precision": data_type.precision, "scale": data_type.scale}
        return {"type": "string", "format": "singer.decimal", **digits}
    for known, schema in _PLAIN:
        if isinstance(data_type, known):
            return schema
    if isinstance(data_type, spark.ArrayType):
        items = of(data_type.elementType, data_type.containsNull, f"{path}[]")
        return {"type": "array", "items": items}
    if isinstance(data_type, spark.MapType) and isinstance(data_type.keyType, spark.StringType):
        values = of(data_type.valueType, data_type.valueContainsNull, f"{path}{{}}")
        return {"type": "object", "additionalProperties": values}
    if isinstance(data_type, spark.StructType):
        return of_struct(data_type.fields, f"{path}." if path else "")
    raise ConfigError(
        f"the column {path} is {data_type.simpleString()}, which a Singer record cannot hold; "
        "cast it to a string, or leave it out"
    )


def of_struct(fields: list[spark.StructField], path: str = "") -> dict[str, Any]:
    """The JSON Schema of an object with these fields."""
    return {
        "type": "object",
        "properties": {
            field.name: of(field.dataType, field.nullable, f"{path}{field.name}")
            for field in fields
        },
    }
