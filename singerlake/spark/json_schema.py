"""From JSON Schema, as Singer taps declare it, to types. docs/spark.md has the table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal, InvalidOperation
from typing import Any

from singerlake.spark.types import (
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
_DECIMAL_FORMATS = frozenset({"singer.decimal", "x-singer.decimal"})


def of(schema: object, numbers: Numbers = "double", depth: int = 0) -> Type:
    """The type of the values that a JSON Schema allows. Null is always allowed."""
    if schema is False:
        return NULL
    if not isinstance(schema, Mapping) or "$ref" in schema or depth > DEEPEST:
        return JSON
    if isinstance(schema.get("allOf"), Sequence):
        return of(_all_of(schema), numbers, depth + 1)
    names = _type_names(schema)
    if not names:
        for word in ("anyOf", "oneOf"):
            branches = schema.get(word)
            if isinstance(branches, Sequence) and branches:
                return union([of(branch, numbers, depth + 1) for branch in branches])
        return _of_values(schema)
    types = [_of_type(name, schema, numbers, depth) for name in names if name != "null"]
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


def _of_type(name: str, schema: Mapping[str, Any], numbers: Numbers, depth: int) -> Type:
    if name == "boolean":
        return BOOLEAN
    if name == "integer":
        return _integer(schema)
    if name == "number":
        return _declared_decimal(schema) or _number(numbers)
    if name == "string":
        return _string(schema, numbers)
    if name == "array":
        items = schema.get("items")
        if isinstance(items, Mapping) and items and "prefixItems" not in schema:
            return array(of(items, numbers, depth + 1))
        return JSON
    if name == "object":
        return _object(schema, numbers, depth)
    return JSON


def _object(schema: Mapping[str, Any], numbers: Numbers, depth: int) -> Type:
    properties, others = schema.get("properties"), schema.get("additionalProperties")
    if isinstance(properties, Mapping) and properties:
        return struct({str(n): of(s, numbers, depth + 1) for n, s in properties.items()})
    if isinstance(others, Mapping) and others and not schema.get("patternProperties"):
        return mapping(of(others, numbers, depth + 1))
    return JSON


def _string(schema: Mapping[str, Any], numbers: Numbers) -> Type:
    form = schema.get("format")
    if form == "date-time":
        return TIMESTAMP
    if form == "date":
        return DATE
    if form in _DECIMAL_FORMATS:
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if isinstance(precision, int) and isinstance(scale, int):
            if 0 <= scale <= precision <= MOST_DIGITS and precision > 0:
                return decimal(precision, scale)
            return TEXT
        return _number("decimal") if numbers == "decimal" else TEXT
    return STRING


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


def _all_of(schema: Mapping[str, Any]) -> dict[str, Any]:
    """One schema for several that all hold: words that occur once stay, properties join."""
    merged: dict[str, Any] = {k: v for k, v in schema.items() if k != "allOf"}
    for part in schema["allOf"]:
        if not isinstance(part, Mapping):
            continue
        for word, value in part.items():
            if word == "properties" and isinstance(value, Mapping):
                merged[word] = {**merged.get(word, {}), **value}
            elif word == "type" and word in merged:
                merged[word] = _both(merged[word], value)
            elif word == "allOf":
                merged[word] = [*merged.get(word, []), *value]
            else:
                merged.setdefault(word, value)
    return merged


def _both(one: object, other: object) -> object:
    names, others = (v if isinstance(v, list) else [v] for v in (one, other))
    if "number" in names and "integer" in others:
        names = [*names, "integer"]
    if "integer" in names and "number" in others:
        others = [*others, "integer"]
    return [name for name in names if name in others] or one
