"""Differences between schema versions: what is told, and that nothing is left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from singerlake.format.difference import Difference, describe, differences
from singerlake.format.schema import Schema

NAMES = some.sampled_from(["id", "name", "[]", "type", "a\nb"])
LEAVES = some.one_of(
    some.fixed_dictionaries(
        {"type": some.sampled_from(["string", "integer", ["null", "string"], ["string", "null"]])},
        optional={
            "format": some.sampled_from(["date-time", "date"]),
            "maxLength": some.sampled_from([1, 1.0, True]),
            "enum": some.permutations([1, "b", None]),
        },
    ),
    some.just({}),
)
FRAGMENTS: some.SearchStrategy[Any] = some.recursive(
    LEAVES,
    lambda inner: some.one_of(
        some.fixed_dictionaries(
            {"type": some.just("object"), "properties": some.dictionaries(NAMES, inner)},
            optional={"required": some.lists(NAMES, unique=True)},
        ),
        some.fixed_dictionaries({"type": some.just("array"), "items": inner}),
        some.fixed_dictionaries({"anyOf": some.lists(inner, min_size=1, max_size=2)}),
    ),
    max_leaves=6,
)
SCHEMAS = some.builds(
    Schema,
    some.dictionaries(NAMES, FRAGMENTS).map(
        lambda properties: {"type": "object", "properties": properties}
    ),
    some.lists(NAMES, unique=True, max_size=2),
)


def normal(value: Any) -> Any:
    """The value with everything sorted whose order means nothing."""
    if isinstance(value, Mapping):
        ordered = {name: normal(item) for name, item in value.items()}
        for name in ("type", "required", "enum"):
            if isinstance(ordered.get(name), list):
                ordered[name] = sorted(ordered[name], key=json.dumps)
        return ordered
    return [normal(item) for item in value] if isinstance(value, list) else value


def text(schema: Schema) -> str:
    body = {"schema": normal(schema.schema), "keys": sorted(schema.key_properties)}
    return json.dumps(body, sort_keys=True)


@given(SCHEMAS, SCHEMAS)
def test_there_are_none_only_where_the_two_are_equal_but_for_order(
    before: Schema, after: Schema
) -> None:
    assert (differences(before, after) == ()) == (text(before) == text(after))
    assert differences(before, before) == ()


@given(SCHEMAS, SCHEMAS)
def test_the_way_back_is_the_way_there_with_added_and_removed_swapped(
    before: Schema, after: Schema
) -> None:
    swap = {"added": "removed", "removed": "added", "changed": "changed"}
    back = {
        (found.path, swap[found.change], found.after, found.before)
        for found in differences(before, after)
    }
    assert back == {
        (found.path, found.change, found.before, found.after)
        for found in differences(after, before)
    }


@given(SCHEMAS, SCHEMAS)
def test_each_says_what_was_and_what_is(before: Schema, after: Schema) -> None:
    for found in differences(before, after):
        assert (found.before is None) == (found.change == "added")
        assert (found.after is None) == (found.change == "removed")
        assert found.before != found.after


def properties(**fragments: Any) -> Schema:
    return Schema({"type": "object", "properties": fragments}, ("id",))


def test_properties_are_told_by_their_path() -> None:
    before = properties(
        id={"type": "integer"},
        gone={"type": "string"},
        place={"type": "object", "properties": {"zip": {"type": "integer"}}},
        lines={"type": "array", "items": {"properties": {"sku": {"type": "string"}}}},
    )
    after = properties(
        id={"type": "integer"},
        place={"type": "object", "properties": {"zip": {"type": ["null", "string"]}}},
        lines={"type": "array", "items": {"properties": {"tax": {"type": "number"}}}},
    )
    assert differences(before, after) == (
        Difference(("gone",), "removed", "string", None),
        Difference(("place", "zip"), "changed", "integer", "string or null"),
        Difference(("lines", "[]", "sku"), "removed", "string", None),
        Difference(("lines", "[]", "tax"), "added", None, "number"),
    )


def test_a_keyword_that_the_type_does_not_tell_is_told_beside_it() -> None:
    [found] = differences(
        properties(name={"type": "string", "maxLength": 10}),
        properties(name={"type": "string", "maxLength": 20}),
    )
    assert (found.before, found.after) == ("string (maxLength 10)", "string (maxLength 20)")
    [found] = differences(
        properties(name={"type": "string"}), properties(name={"type": ["string"]})
    )
    assert (found.before, found.after) == ('string (type "string")', 'string (type ["string"])')


def test_a_changed_key_is_told_and_its_order_is_not() -> None:
    schema = {"properties": {}}
    [found] = differences(Schema(schema, ("a", "b")), Schema(schema, ("b",)))
    assert found == Difference((), "changed", "key: a, b", "key: b")
    [found] = differences(Schema(schema, ()), Schema(schema, ("b",)))
    assert found.before == "no key"
    assert differences(Schema(schema, ("a", "b")), Schema(schema, ("b", "a"))) == ()


@pytest.mark.parametrize("kind", ["properties", "items", "anyOf"])
def test_a_schema_that_nests_without_end_is_compared_all_the_same(kind: str) -> None:
    def nested(leaf: dict[str, Any]) -> dict[str, Any]:
        made = leaf
        for _ in range(400):
            made = {kind: {"properties": {"a": made}, "items": made, "anyOf": [made]}[kind]}
        return made

    [found] = differences(Schema(nested({"type": "string"})), Schema(nested({"type": "integer"})))
    assert found.change == "changed"


def test_a_type_that_is_named_twice_is_told_once() -> None:
    """Else the work would grow with each level as it does with each name."""
    looks: list[None] = []

    class Leaf(dict[str, Any]):
        def get(self, *arguments: Any) -> Any:
            looks.append(None)
            return super().get(*arguments)

    fragment: dict[str, Any] = Leaf(type="string")
    for _ in range(2):
        fragment = {"type": ["array"] * 30, "items": fragment}
    assert describe(fragment) == "array of array of string"
    assert len(looks) < 30


@pytest.mark.parametrize(
    ("fragment", "words"),
    [
        ({"type": "integer"}, "integer"),
        ({"type": ["null", "string"]}, "string or null"),
        ({"type": ["null", "string"], "format": "date-time"}, "string, date-time, or null"),
        ({"type": ["string", "integer"]}, "string or integer"),
        ({"type": "array", "items": {"type": "integer"}}, "array of integer"),
        ({"type": ["array", "null"], "items": {"type": "integer"}}, "array of integer or null"),
        ({"items": {"type": ["integer", "null"]}}, "array of (integer or null)"),
        ({"type": "array"}, "array"),
        ({"type": ["array", "null", "array"], "items": {}}, "array of anything or null"),
        ({"type": ["null", "object"], "properties": {"a": {}}}, "object or null"),
        ({"properties": {}}, "object"),
        (
            {"anyOf": [{"type": "null"}, {"type": "string", "format": "date"}]},
            "string, date, or null",
        ),
        ({"oneOf": [{"type": "integer"}, {"type": "integer"}]}, "integer"),
        ({"enum": ["a", None]}, 'one of "a", null'),
        ({"enum": [*range(9)]}, "one of 0, 1, 2, 3, 4 and 4 more"),
        ({"const": 1}, "always 1"),
        ({"$ref": "#/definitions/x"}, "as #/definitions/x"),
        ({}, "anything"),
        ({"type": 3}, "anything"),
    ],
)
def test_types_are_told_in_words(fragment: dict[str, Any], words: str) -> None:
    assert describe(fragment) == words
