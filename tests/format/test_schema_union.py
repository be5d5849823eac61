"""The union of schema versions: it allows what any of them allows, with Spark's types."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from singerlake.errors import ConfigError
from singerlake.format import json_schema
from singerlake.format import record_type as types
from singerlake.format.schema import Schema
from singerlake.format.schema_union import union

TEXT = st.text(max_size=3)
TIME, DAY = {"format": "date-time"}, {"format": "date"}
SCALARS: dict[str, tuple[dict[str, Any], st.SearchStrategy[Any]]] = {
    "integer": ({"type": "integer"}, st.integers()),
    "small": ({"type": "integer", "minimum": 0, "maximum": 9}, st.integers(0, 9)),
    "number": ({"type": "number"}, st.floats(allow_nan=False, allow_infinity=False)),
    "string": ({"type": "string"}, TEXT),
    "short": ({"type": "string", "maxLength": 2}, st.text(max_size=2)),
    "boolean": ({"type": "boolean"}, st.booleans()),
    "time": ({"type": "string"} | TIME, st.just("2026-11-16T02:54:14Z")),
    "day": ({"type": "string"} | DAY, st.just("2026-11-16")),
    "enum": ({"enum": ["a", "b", 1]}, st.sampled_from(["a", "b", 1])),
    "any": ({}, st.none() | TEXT | st.lists(st.integers(), max_size=1)),
}

Made = tuple[dict[str, Any], Any]
"""A schema, and a value that it allows."""


@st.composite
def made(draw: st.DrawFn, depth: int = 2) -> Made:
    kind = draw(st.sampled_from([*SCALARS, *(["array", "object", "either"] if depth else [])]))
    if kind == "array":
        items, value = draw(made(depth - 1))
        return {"type": "array", "items": items}, [value] * draw(st.integers(0, 2))
    if kind == "object":
        return draw(objects(depth - 1))
    if kind == "either":
        (one, value), (other, _) = draw(made(depth - 1)), draw(made(depth - 1))
        return {"anyOf": [other, one]}, value
    schema, values = SCALARS[kind]
    value = draw(values)
    if "type" in schema and draw(st.booleans()):
        return {**schema, "type": ["null", schema["type"]]}, draw(st.sampled_from([None, value]))
    return schema, value


@st.composite
def objects(draw: st.DrawFn, depth: int = 2) -> Made:
    names = draw(st.lists(st.sampled_from(["a", "b", "c"]), unique=True))
    members = {name: draw(made(depth)) for name in names}
    schema: dict[str, Any] = {"type": "object", "properties": {n: m[0] for n, m in members.items()}}
    if draw(st.booleans()):
        schema["required"] = names
    if draw(st.booleans()):
        schema["additionalProperties"] = False
    return schema, {name: value for name, (_, value) in members.items()}


@given(st.lists(objects(), min_size=1, max_size=4))
def test_every_record_of_every_version_is_allowed(versions: list[Made]) -> None:
    merged = union([Schema(schema) for schema, _ in versions])
    validator = Draft7Validator(dict(merged.schema))
    for schema, record in versions:
        Draft7Validator(schema).validate(record)
        validator.validate(record)


@given(st.lists(objects(), min_size=1, max_size=4))
def test_the_columns_are_those_of_spark(versions: list[Made]) -> None:
    columns = types.union([record_type(schema) for schema, _ in versions])
    merged = record_type(union([Schema(schema) for schema, _ in versions]).schema)
    assert plain(merged) == plain(columns)


def record_type(schema: Any) -> types.Type:
    return types.struct(dict(json_schema.of(schema, is_record=True).fields))


def plain(kind: types.Type) -> types.Type:
    """An array of anything has no schema for its items, so it counts as JSON."""
    if kind.items is not None:
        items = plain(kind.items)
        return types.JSON if items == types.JSON else types.array(items)
    return replace(kind, fields=tuple((name, plain(field)) for name, field in kind.fields))


def of_column(*declared: Any) -> Any:
    versions = [Schema({"type": "object", "properties": {"x": one}}) for one in declared]
    return union(versions).schema["properties"]["x"]


@pytest.mark.parametrize(
    ("before", "after", "merged"),
    [
        ({"type": "integer"}, {"type": "number"}, {"type": ["number"]}),
        (
            {"type": "integer"},
            {"type": ["null", "string"]},
            {"type": ["null", "string", "integer"]},
        ),
        ({"type": "number"}, {"type": "boolean"}, {"type": ["string", "number", "boolean"]}),
        (
            {"type": "string", "format": "date"},
            {"type": "string", "format": "date-time"},
            {"type": ["string"], "format": "date-time"},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string"}, {"type": ["string"]}),
        (
            {"type": "integer", "minimum": -5, "maximum": 5},
            {"type": "integer", "minimum": -9, "maximum": 4},
            {"type": ["integer"], "minimum": -9, "maximum": 5},
        ),
        (
            {"type": "string", "format": "singer.decimal", "precision": 10, "scale": 2},
            {"type": "string", "format": "singer.decimal", "precision": 12, "scale": 4},
            {"type": ["string"], "format": "singer.decimal", "precision": 12, "scale": 4},
        ),
        ({"type": "string"}, {"type": "object"}, {"type": ["string", "object"]}),
        ({"type": "string"}, {}, {}),
        ({"enum": ["a"]}, {"enum": ["b"]}, {"enum": ["a", "b"]}),
    ],
)
def test_how_a_type_is_widened(before: Any, after: Any, merged: Any) -> None:
    assert of_column(before, after) == merged


def test_what_one_version_lacks_may_be_null_and_the_oldest_come_first() -> None:
    one = Schema({"type": "object", "properties": {"id": {"type": "integer"}, "b": {}}}, ["id"])
    other = Schema(
        {"type": "object", "properties": {"a": {"type": "string"}, "id": {"type": "integer"}}},
        ["id"],
    )
    merged = union([one, other])
    assert list(merged.schema["properties"].items()) == [
        ("id", {"type": "integer"}),
        ("b", {}),
        ("a", {"type": ["null", "string"]}),
    ]
    assert merged.key_properties == ["id"]


def test_properties_that_a_pattern_names_are_allowed() -> None:
    before = {"type": "object", "patternProperties": {"^x": {}}, "additionalProperties": False}
    after = {**before, "properties": {"a": {"type": "string"}}}
    validator = Draft7Validator(dict(union([Schema(before), Schema(after)]).schema))
    for record in ({"x1": 5}, {"a": "b", "x2": None}):
        validator.validate(record)


def test_one_version_stays_as_it_is() -> None:
    schema = Schema({"properties": {"x": {"type": "integer", "x-own": 1}}, "$comment": "!"})
    assert union([schema, schema]) == schema


def test_definitions_that_differ_say_nothing() -> None:
    refers = {"x": {"$ref": "#/definitions/d"}}
    versions = [
        Schema({"definitions": {"d": {"type": kind}}, "properties": refers})
        for kind in ("integer", "string")
    ]
    assert union(versions).schema["properties"] == {"x": {}}
    same = [Schema({**versions[0].schema, "title": title}) for title in ("one", "two")]
    assert union(same).schema["definitions"] == {"d": {"type": "integer"}}


def test_a_key_that_an_older_version_does_not_have_is_an_error() -> None:
    old = Schema({"properties": {"id": {}}}, ["id"])
    new = Schema({"properties": {"id": {}, "region": {}}}, ["id", "region"])
    with pytest.raises(ConfigError, match=f"{old.hash()} has no region"):
        union([old, new])
    assert union([new, old]).key_properties == ["id"]
