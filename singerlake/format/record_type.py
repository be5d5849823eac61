"""The types of columns, and the one that holds the values of several.

A `Type` knows nothing of any engine: `spark/spark_type.py` and `decode/arrow_type.py` are the steps
there. Where a schema allows values that no one column type can hold, the column is a string: `text`
where all of them are scalars (a string stands for itself, anything else as its JSON text), `json`
where they are not (the JSON text of whatever was there, quotes included).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

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
"""What a decimal holds, in Spark, Arrow and DuckDB alike."""

_SCALARS = frozenset(
    {"boolean", "long", "double", "decimal", "string", "timestamp", "date", "text"}
)
_STRINGS = frozenset({"string", "timestamp", "date"})
_STRINGS_BY_NAME = {"null": "null", "text": "string (text)", "json": "string (JSON)"}
_SIMPLE = {
    "boolean": "boolean",
    "long": "bigint",
    "double": "double",
    "timestamp": "timestamp",
    "date": "date",
}


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
        """As people read it: `simple` tells neither texts nor nulls from strings."""
        return _STRINGS_BY_NAME.get(self.kind) or self.simple

    @property
    def simple(self) -> str:
        """The type in the words of SQL, as Spark's `simpleString` has it."""
        if self.kind == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.kind == "struct":
            return f"struct<{','.join(f'{name}:{kind.simple}' for name, kind in self.fields)}>"
        if self.items is not None:
            inner = self.items.simple
            return f"array<{inner}>" if self.kind == "array" else f"map<string,{inner}>"
        return _SIMPLE.get(self.kind, "string")


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


def exact(kind: Type) -> Type:
    """The type without doubles, at any depth: they take integers past 2^53 for their neighbours."""
    if kind == DOUBLE:
        return EXACT_NUMBER
    items = None if kind.items is None else exact(kind.items)
    return replace(kind, items=items, fields=tuple((n, exact(t)) for n, t in kind.fields))
