"""JSON Schema to types: the table in docs/spark.md."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from singerlake.format import json_schema
from singerlake.format import record_type as types

BIG = 2**64


def _with(**kinds: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["null", "string"]}, "string"),
        ({"type": "boolean"}, "boolean"),
        ({"type": "integer"}, "bigint"),
        ({"type": "integer", "minimum": 0, "maximum": 2**63 - 1}, "bigint"),
        ({"type": "integer", "maximum": BIG}, "decimal(38,0)"),
        ({"type": "integer", "maximum": 10**40}, "string (text)"),
        ({"type": "number"}, "double"),
        ({"type": ["integer", "number", "null"]}, "double"),
        ({"type": "number", "multipleOf": 0.01}, "decimal(38,2)"),
        ({"type": "number", "multipleOf": 1e-05}, "decimal(38,5)"),
        ({"type": "number", "multipleOf": 1e-38}, "double"),
        (
            {"type": "number", "multipleOf": 0.01, "minimum": 0, "exclusiveMinimum": 0},
            "decimal(38,2)",
        ),
        (
            {"type": "number", "multipleOf": 0.01, "minimum": -999, "maximum": 999},
            "decimal(5,2)",
        ),
        (
            {"type": "number", "multipleOf": 1e-38, "minimum": -1e62, "maximum": 1e62},
            "double",
        ),
        ({"type": "number", "multipleOf": 1}, "bigint"),
        ({"type": "string", "format": "date-time"}, "timestamp"),
        ({"type": "string", "format": "date"}, "date"),
        ({"type": "string", "format": "time"}, "string"),
        ({"type": "string", "format": "uuid"}, "string"),
        (
            {"type": "string", "format": "singer.decimal", "precision": 10, "scale": 2},
            "decimal(10,2)",
        ),
        (
            {
                "type": ["string", "number"],
                "format": "singer.decimal",
                "precision": 38,
                "scale": 10,
            },
            "decimal(38,10)",
        ),
        (
            {"type": "number", "format": "singer.decimal", "precision": 39, "scale": 0},
            "double",
        ),
        ({"type": ["string", "number"], "format": "singer.decimal"}, "string (text)"),
        ({"type": "string", "format": "singer.decimal"}, "string (text)"),
        ({"type": "string", "format": "x-singer.decimal"}, "string (text)"),
        ({"type": ["string", "integer"]}, "string (text)"),
        ({"type": ["string", "object"]}, "string (JSON)"),
        ({"type": "object", "properties": {"a": {"type": "integer"}}}, "struct<a:bigint>"),
        ({"properties": {"a": {"type": "integer"}}}, "struct<a:bigint>"),
        ({"type": "object"}, "string (JSON)"),
        ({"type": "object", "properties": {}}, "string (JSON)"),
        ({"type": "object", "additionalProperties": {"type": "integer"}}, "map<string,bigint>"),
        ({"type": "object", "additionalProperties": True}, "string (JSON)"),
        ({"type": "object", "additionalProperties": {}}, "string (JSON)"),
        ({"type": "array", "items": {"type": "string"}}, "array<string>"),
        ({"type": "array"}, "string (JSON)"),
        ({"type": "array", "items": {}}, "string (JSON)"),
        ({"type": "array", "items": [{"type": "string"}]}, "string (JSON)"),
        ({}, "string (JSON)"),
        (True, "string (JSON)"),
        ({"$ref": "#/definitions/a"}, "string (JSON)"),
        ({"type": "null"}, "null"),
        ({"enum": ["a", "b", None]}, "string"),
        ({"enum": ["a", 1]}, "string (JSON)"),
        ({"const": True}, "boolean"),
        ({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]}, "timestamp"),
        ({"anyOf": [{"type": "string", "format": "date-time"}, {"type": "string"}]}, "string"),
        ({"oneOf": [{"type": "integer"}, {"type": "number"}]}, "double"),
        ({"anyOf": [{"type": "array", "items": {"type": "string"}}, {}]}, "string (JSON)"),
        (
            {
                "allOf": [
                    {"type": "object", "properties": {"a": {"type": "integer"}}},
                    {"properties": {"b": {"type": "string"}}},
                ]
            },
            "struct<a:bigint,b:string>",
        ),
        ({"type": ["null", "number"], "allOf": [{"type": "integer"}]}, "bigint"),
        ({"type": "strange"}, "string (JSON)"),
        pytest.param(
            {
                "allOf": [
                    {"properties": {"a": {"properties": {"x": {"type": "integer"}}}}},
                    {"properties": {"a": {"properties": {"y": {"type": "string"}}}}},
                ]
            },
            "struct<a:struct<x:bigint,y:string>>",
            id="members of a property that two of allOf name",
        ),
        pytest.param(
            {"anyOf": [_with(a="integer")], "oneOf": [_with(b="integer")]},
            "struct<a:bigint,b:bigint>",
            id="anyOf and oneOf",
        ),
        pytest.param(
            {**_with(kind="string"), "oneOf": [_with(card="string"), _with(iban="string")]},
            "struct<kind:string,card:string,iban:string>",
            id="oneOf beside properties",
        ),
        pytest.param(
            {
                **_with(kind="string"),
                "anyOf": [_with(n="integer"), _with(n="number"), {"type": "null"}],
            },
            "struct<kind:string,n:double>",
            id="branches that widen each other",
        ),
        pytest.param(
            {
                **_with(kind="integer"),
                "oneOf": [{"properties": {"kind": {"enum": [1]}}}, {"required": ["kind"]}, True],
            },
            "struct<kind:bigint>",
            id="branches that only narrow",
        ),
        pytest.param(
            {
                "properties": {"a": {"type": "array", "items": _with(x="integer")}},
                "then": {"properties": {"a": {"items": _with(y="integer")}}},
            },
            "struct<a:array<struct<x:bigint,y:bigint>>>",
            id="members deep in a branch",
        ),
        pytest.param(
            {**_with(a="string"), "oneOf": [{"$ref": "#/definitions/a"}]},
            "string (JSON)",
            id="a branch of unknown members",
        ),
        pytest.param(
            {**_with(a="string"), "additionalProperties": {"type": "integer"}},
            "string (JSON)",
            id="described members beside named ones",
        ),
        pytest.param(
            {**_with(a="string"), "patternProperties": {"^x-": {"type": "integer"}}},
            "string (JSON)",
            id="members by pattern beside named ones",
        ),
        ({**_with(a="string"), "additionalProperties": True}, "struct<a:string>"),
        ({**_with(a="string"), "additionalProperties": {}}, "struct<a:string>"),
    ],
)
def test_the_type_of_a_schema(schema: Any, expected: str) -> None:
    assert str(json_schema.of(schema)) == expected


WORDS = [
    *("type", "properties", "items", "prefixItems", "allOf", "anyOf", "oneOf", "then", "else"),
    *("additionalProperties", "patternProperties", "format", "precision", "scale", "multipleOf"),
    *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "const", "$ref"),
]
KINDS = ["null", "boolean", "integer", "number", "string", "array", "object"]
ODD_SCHEMAS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.sampled_from([*KINDS, "date-time", "singer.decimal", ""]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4)
        | st.fixed_dictionaries(
            {"type": st.sampled_from(KINDS)},
            optional={word: inner for word in WORDS[1:]},
        )
    ),
    max_leaves=12,
)


@settings(max_examples=500)
@given(ODD_SCHEMAS, st.sampled_from(["double", "decimal", "string"]))
@example({"properties": None, "allOf": [{"properties": {}}]}, "double")
@example({"allOf": [{"allOf": None}]}, "double")
@example({"allOf": [{"properties": None}, {"properties": {"a": {}}}]}, "double")
@example({"type": "string", "format": []}, "double")
@example({"type": [{}, []]}, "double")
@example({"type": "string", "format": "singer.decimal", "precision": True}, "double")
def test_any_schema_has_a_type(schema: Any, numbers: Any) -> None:
    """A lake takes every schema that is JSON, so readers have to as well."""
    assert str(json_schema.of(schema, numbers))
    assert str(json_schema.of(schema, numbers, is_record=True))


def test_numbers_as_asked_for() -> None:
    assert json_schema.of({"type": "number"}, "decimal") == types.decimal(38, 18)
    assert json_schema.of({"type": "number"}, "string") == types.TEXT
    assert json_schema.of({"type": "integer"}, "string") == types.LONG
    assert (
        json_schema.of({"type": "string", "format": "singer.decimal"}, "decimal").kind == "decimal"
    )


def test_a_schema_without_end_becomes_text() -> None:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(300):
        schema = {"type": "array", "items": schema}
    assert str(json_schema.of(schema)).startswith("array<array<")
