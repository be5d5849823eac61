"""Record types as Spark's, and back."""

from __future__ import annotations

from pyspark.sql import types as spark

from singerlake.format.record_type import TEXT, Type, array, decimal, mapping, struct

_SPARK: dict[str, spark.DataType] = {
    "boolean": spark.BooleanType(),
    "long": spark.LongType(),
    "double": spark.DoubleType(),
    "timestamp": spark.TimestampType(),
    "date": spark.DateType(),
}


def to_spark(kind: Type) -> spark.DataType:
    """The Spark type; a type that only ever holds null is a string."""
    if kind.kind == "decimal":
        return spark.DecimalType(kind.precision, kind.scale)
    if kind.kind == "struct":
        return spark.StructType([spark.StructField(n, to_spark(t), True) for n, t in kind.fields])
    if kind.items is not None:
        inner = to_spark(kind.items)
        if kind.kind == "array":
            return spark.ArrayType(inner, True)
        return spark.MapType(spark.StringType(), inner, True)
    return _SPARK.get(kind.kind, spark.StringType())


def holds_map(data_type: spark.DataType) -> bool:
    """Whether there is a map in it, at any depth: Spark neither sorts nor groups by one."""
    return _holds(data_type, spark.MapType)


def holds_double(data_type: spark.DataType) -> bool:
    """Whether there is a number in it, at any depth and outside of maps, that is not exact."""
    return _holds(data_type, spark.DoubleType, spark.FloatType)


def _holds(data_type: spark.DataType, *kinds: type[spark.DataType]) -> bool:
    if isinstance(data_type, spark.ArrayType):
        return _holds(data_type.elementType, *kinds)
    if isinstance(data_type, spark.StructType):
        return any(_holds(field.dataType, *kinds) for field in data_type.fields)
    return isinstance(data_type, kinds)


def from_spark(data_type: spark.DataType) -> Type | None:
    """The type that reads values into a given Spark type; None where no JSON value fits it."""
    for kind, known in _SPARK.items():
        if data_type == known:
            return Type(kind)  # type: ignore[arg-type]
    if isinstance(data_type, spark.StringType):
        return TEXT
    if isinstance(data_type, spark.DecimalType):
        return decimal(data_type.precision, data_type.scale)
    if isinstance(data_type, spark.ArrayType):
        items = from_spark(data_type.elementType)
        return None if items is None else array(items)
    if isinstance(data_type, spark.MapType) and isinstance(data_type.keyType, spark.StringType):
        values = from_spark(data_type.valueType)
        return None if values is None else mapping(values)
    if isinstance(data_type, spark.StructType):
        fields = {field.name: from_spark(field.dataType) for field in data_type.fields}
        known_fields = {name: kind for name, kind in fields.items() if kind is not None}
        return struct(known_fields) if len(known_fields) == len(fields) else None
    return None
