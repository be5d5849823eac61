"""From JSON Schema, as Singer taps declare it, to types. docs/spark.md has the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from singerlake.format.record_type import (
    BOOLEAN,
    DATE,
    DOUBLE,
    EXACT_NUMBER,
    JSON,
    LONG,
    MOST_DIGITS,
    NULL,
    STRING,
    TEXT,
    TIMESTAMP,
    Numbers,
    Type,
    array,
    decimal,
    mapping,
    struct,
    union,
)

DEEPEST = 40
"""Levels of a schema that become types; what lies below is JSON text."""

ENOUGH_DIGITS = 18
"""Before the point, where the schema sets no bounds: fewer would turn ordinary numbers away."""

_LOWER, _UPPER = ("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum")
_LONG = range(-(2**63), 2**63)
_DECIMAL_FORMATS = ("singer.decimal", "x-singer.decimal")
_EITHER = ("anyOf", "oneOf")


def of(
    schema: object, numbers: Numbers = "double", depth: int = 0, is_record: bool = False
) -> Type:
    """The type of the values that a JSON Schema allows. Null is always allowed.

    A record is a struct of what is declared by name, even if it may hold more: that is in
    `_record`.
    """
    if schema is False:
        return NULL
    if not isinstance(schema, Mapping) or "$ref" in schema or depth > DEEPEST:
        return JSON
    if isinstance(schema.get("allOf"), list):
        return of(all_of(schema), numbers, depth + 1, is_record)
    names = _type_names(schema)
    if not names:
        branches = [branch for word in _EITHER for branch in _list(schema.get(word))]
        if branches:
            return union([of(branch, numbers, depth + 1, is_record) for branch in branches])
        return _of_values(schema)
    types = [_of_type(name, schema, numbers, depth, is_record) for name in names if name != "null"]
    return union(types)


def _type_names(schema: Mapping[str, Any]) -> list[str]:
    """The declared types; where none are, those that other words give away."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, Sequence):
        # A number may be an integer: declaring both declares a number.
        return [n for n in declared if n != "integer" or "number" not in declared]
    if isinstance(schema.get("properties"), Mapping):
        return ["object"]
    if isinstance(schema.get("items"), Mapping):
        return ["array"]
    return ["string"] if isinstance(schema.get("format"), str) else []


def _of_type(
    name: str, schema: Mapping[str, Any], numbers: Numbers, depth: int, is_record: bool
) -> Type:
    if name == "boolean":
        return BOOLEAN
    if name == "integer":
        return _integer(schema)
    if name == "number":
        return _declared_decimal(schema) or _formatted_decimal(schema) or _number(numbers)
    if name == "string":
        return _string(schema, numbers)
    if name == "array":
        items = schema.get("items")
        if isinstance(items, Mapping) and items and "prefixItems" not in schema:
            return array(of(items, numbers, depth + 1))
        return JSON
    if name == "object":
        return _object(schema, numbers, depth, is_record)
    return JSON


def _object(schema: Mapping[str, Any], numbers: Numbers, depth: int, is_record: bool) -> Type:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if not isinstance(properties, Mapping) or not properties:
        if isinstance(others, Mapping) and others and not schema.get("patternProperties"):
            return mapping(of(others, numbers, depth + 1))
        return JSON
    own = struct({str(n): of(s, numbers, depth + 1) for n, s in properties.items()})
    words = [*_EITHER, "then", "else"]
    branches = [branch for word in words for branch in _list(schema.get(word)) if _declares(branch)]
    more = [of(branch, numbers, depth + 1, is_record) for branch in branches]
    is_open = _others(schema) or any(kind.kind in ("json", "map") for kind in more)
    if is_open and not is_record:
        return JSON
    return _extended(own, union([kind for kind in more if kind.kind == "struct"]))


def _extended(own: Type, more: Type) -> Type:
    """A type with the fields that another one adds. Where both tell, its own holds: values have
    to fit that anyway."""
    if own.kind == more.kind == "struct":
        fields = dict(own.fields)
        for name, kind in more.fields:
            fields[name] = _extended(fields[name], kind) if name in fields else kind
        return struct(fields)
    if own.kind == more.kind == "array" and own.items is not None and more.items is not None:
        return array(_extended(own.items, more.items))
    return own


def _declares(schema: object) -> bool:
    """Whether a schema names or describes members, and does not only narrow those of others."""
    if not isinstance(schema, Mapping):
        return False
    parts = (part for word in ("allOf", *_EITHER) for part in _list(schema.get(word)))
    return (
        "$ref" in schema
        or _is_filled(schema.get("properties"))
        or _others(schema)
        or any(map(_declares, parts))
    )


def _others(schema: Mapping[str, Any]) -> bool:
    """Whether members beside the named ones are described."""
    return any(map(_is_filled, map(schema.get, ("additionalProperties", "patternProperties"))))


def _is_filled(value: object) -> bool:
    return isinstance(value, Mapping) and bool(value)


def _list(value: object) -> list[Any]:
    """A word's schemas; it may have one, several or, where it makes no sense, none."""
    if isinstance(value, Mapping):
        return [value]
    return value if isinstance(value, list) else []


def _string(schema: Mapping[str, Any], numbers: Numbers) -> Type:
    form = schema.get("format")
    if form == "date-time":
        return TIMESTAMP
    if form == "date":
        return DATE
    if form in _DECIMAL_FORMATS:
        declared = _formatted_decimal(schema)
        if declared is None and numbers == "decimal" and not _has_precision(schema):
            return _number("decimal")
        return declared or TEXT
    return STRING


def _formatted_decimal(schema: Mapping[str, Any]) -> Type | None:
    """What `singer.decimal` declares, for a string or a number; None where it is not possible."""
    if schema.get("format") not in _DECIMAL_FORMATS or not _has_precision(schema):
        return None
    precision, scale = schema["precision"], schema.get("scale", 0)
    fits = 0 <= scale <= precision <= MOST_DIGITS and precision > 0
    return decimal(precision, scale) if fits else None


def _has_precision(schema: Mapping[str, Any]) -> bool:
    # True is no number.
    return type(schema.get("precision")) is int and type(schema.get("scale", 0)) is int


def _number(numbers: Numbers) -> Type:
    if numbers == "decimal":
        return EXACT_NUMBER
    return TEXT if numbers == "string" else DOUBLE


def _integer(schema: Mapping[str, Any]) -> Type:
    bounds = _bounds(schema, *_LOWER, *_UPPER)
    if all(_LONG.start <= bound < _LONG.stop for bound in bounds):
        return LONG
    fits = max(_whole_digits(bound) for bound in bounds) <= MOST_DIGITS
    return decimal(MOST_DIGITS, 0) if fits else TEXT


def _declared_decimal(schema: Mapping[str, Any]) -> Type | None:
    """`multipleOf` gives the scale, the bounds give the digits before the point."""
    step = _exact(schema.get("multipleOf"))
    if step is None or step <= 0:
        return None
    exponent = step.normalize().as_tuple().exponent
    scale = max(0, -exponent) if isinstance(exponent, int) else 0
    if scale == 0:
        return _integer(schema)
    lower, upper = _bounds(schema, *_LOWER), _bounds(schema, *_UPPER)
    if lower and upper:
        whole = max(map(_whole_digits, [*lower, *upper]))
    else:
        whole = MOST_DIGITS - scale
        if whole < ENOUGH_DIGITS:
            return None
    return decimal(whole + scale, scale) if whole <= MOST_DIGITS - scale else None


def _bounds(schema: Mapping[str, Any], *words: str) -> list[Decimal]:
    bounds = (_exact(schema.get(word)) for word in words)
    return [bound for bound in bounds if bound is not None]


def _exact(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        number = Decimal(repr(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _whole_digits(bound: Decimal) -> int:
    return max(1, bound.adjusted() + 1)


def _of_values(schema: Mapping[str, Any]) -> Type:
    """Where no type is declared, the allowed values may tell."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(values, Sequence) and values and not isinstance(values, str):
        found = {type(value) for value in values if value is not None}
        if found == {str}:
            return STRING
        if found == {bool}:
            return BOOLEAN
    return JSON


def all_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """One schema for several that all hold: words that occur once stay, properties join."""
    merged: dict[str, Any] = {k: v for k, v in schema.items() if k != "allOf"}
    for part in schema["allOf"]:
        if not isinstance(part, Mapping):
            continue
        for word, value in part.items():
            if word == "properties":
                merged[word] = _joined(merged.get(word), value)
            elif word == "type" and word in merged:
                merged[word] = _both(merged[word], value)
            elif word in ("allOf", *_EITHER):
                merged[word] = [*_list(merged.get(word)), *_list(value)]
            else:
                merged.setdefault(word, value)
    return merged


def _joined(one: object, other: object) -> dict[str, Any]:
    """Properties that both hold; of those that both name, both schemas do."""
    merged = dict(one) if isinstance(one, Mapping) else {}
    for name, schema in other.items() if isinstance(other, Mapping) else ():
        merged[name] = {"allOf": [merged[name], schema]} if name in merged else schema
    return merged


def _both(one: object, other: object) -> object:
    names, others = (v if isinstance(v, list) else [v] for v in (one, other))
    if "number" in names and "integer" in others:
        names = [*names, "integer"]
    if "integer" in names and "number" in others:
        others = [*others, "integer"]
    return [name for name in names if name in others] or one
