"""The types of columns, and the one that holds the values of several.

A `Type` knows nothing of Spark: `to_spark` is the one step there. Where a schema allows values
that no one Spark type can hold, the column is a string: `text` where all of them are scalars (a
string stands for itself, anything else as its JSON text), `json` where they are not (the JSON text
of whatever was there, quotes included).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from pyspark.sql import types as spark

Numbers = Literal["double", "decimal", "string"]
Kind = Literal[
    "null",
    "boolean",
    "long",
    "double",
    "decimal",
    "string",
    "timestamp",
    "date",
    "text",
    "json",
    "array",
    "map",
    "struct",
]

MOST_DIGITS = 38
"""What Spark's decimal holds."""

_SCALARS = frozenset(
    {"boolean", "long", "double", "decimal", "string", "timestamp", "date", "text"}
)
_STRINGS = frozenset({"string", "timestamp", "date"})


@dataclass(frozen=True)
class Type:
    """The type of a column or of a value within it.

    `items` is what an array or a map holds, `fields` what a struct has, in order.
    """

    kind: Kind
    precision: int = 0
    scale: int = 0
    items: Type | None = None
    fields: tuple[tuple[str, Type], ...] = ()

    def __str__(self) -> str:
        return {"null": "null", "text": "string (text)", "json": "string (JSON)"}.get(
            self.kind, to_spark(self).simpleString()
        )


NULL = Type("null")
BOOLEAN = Type("boolean")
LONG = Type("long")
DOUBLE = Type("double")
STRING = Type("string")
TIMESTAMP = Type("timestamp")
DATE = Type("date")
TEXT = Type("text")
JSON = Type("json")


def decimal(precision: int, scale: int) -> Type:
    return Type("decimal", precision, scale)


EXACT_NUMBER = decimal(MOST_DIGITS, 18)
"""A number of any kind, where a double would not be exact."""


def array(items: Type) -> Type:
    return Type("array", items=items)


def mapping(values: Type) -> Type:
    return Type("map", items=values)


def struct(fields: Mapping[str, Type]) -> Type:
    return Type("struct", fields=tuple(fields.items()))


def union(types: Sequence[Type], conflicts: list[str] | None = None, path: str = "") -> Type:
    """The narrowest type that holds every value of these types; `null` where there are none.

    Where values of one of them then stand there as text, `path` is added to `conflicts`.
    """
    result = NULL
    for other in types:
        result = _wider(result, other, [] if conflicts is None else conflicts, path)
    return result


def _wider(a: Type, b: Type, conflicts: list[str], path: str) -> Type:
    if a == b or b == NULL:
        return a
    if a == NULL:
        return b
    kinds = {a.kind, b.kind}
    if kinds == {"struct"}:
        return _wider_struct(a, b, conflicts, path)
    if len(kinds) == 1 and a.items is not None and b.items is not None:
        inner = "[]" if a.kind == "array" else "{}"
        return Type(a.kind, items=_wider(a.items, b.items, conflicts, path + inner))
    wider = _wider_scalar(a, b)
    if wider is None:
        wider = TEXT if kinds <= _SCALARS else JSON
        if kinds != {"string", "text"}:
            conflicts.append(path)
    return wider


def _wider_scalar(a: Type, b: Type) -> Type | None:
    kinds = {a.kind, b.kind}
    if kinds <= {"long", "double", "decimal"}:
        if "double" in kinds:
            return DOUBLE
        (one, other) = (_as_decimal(a), _as_decimal(b))
        scale = max(one.scale, other.scale)
        whole = max(one.precision - one.scale, other.precision - other.scale)
        return decimal(whole + scale, scale) if whole + scale <= MOST_DIGITS else None
    if kinds == {"date", "timestamp"}:
        return TIMESTAMP
    if kinds <= _STRINGS:
        return STRING
    return None


def _as_decimal(number: Type) -> Type:
    return decimal(19, 0) if number == LONG else number


def _wider_struct(a: Type, b: Type, conflicts: list[str], path: str) -> Type:
    fields = dict(a.fields)
    for name, other in b.fields:
        inner = f"{path}.{name}" if path else name
        fields[name] = _wider(fields.get(name, NULL), other, conflicts, inner)
    return struct(fields)


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


def exact(kind: Type) -> Type:
    """The type without doubles, at any depth: they take integers past 2^53 for their neighbours."""
    if kind == DOUBLE:
        return EXACT_NUMBER
    items = None if kind.items is None else exact(kind.items)
    return replace(kind, items=items, fields=tuple((n, exact(t)) for n, t in kind.fields))


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
