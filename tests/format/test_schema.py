"""The schema hash: one rule, which any other implementation can follow."""

from __future__ import annotations

import base64
import json
import random
import re
from typing import Any

import farmhash
import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.format.message import decode_schema
from singerlake.format.schema import Schema, hash_text
from tests.format.made import json_objects, schema_line

WORKED_EXAMPLE = (
    b'{"key_properties":["id"],"schema":{"properties":{"id":{"type":"integer"},'
    b'"name":{"type":["null","string"]}},"type":"object"}}'
)
key_properties = st.lists(st.text(max_size=8), max_size=3)


def by_the_rule(schema: dict[str, Any], keys: list[str]) -> str:
    """The rule of the spec, written down a second time."""
    text = json.dumps(
        {"key_properties": keys, "schema": schema},
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
    ).encode("utf-8", "surrogatepass")
    for n in range(10_000):
        salted = text if n == 0 else b"%s\n%d" % (text, n)
        number = farmhash.fingerprint64(salted)
        candidate = base64.b85encode(bytes((number >> shift) & 255 for shift in range(56, -8, -8)))
        if candidate[:7].isalnum():
            return candidate[:7].decode("ascii")
    raise AssertionError("no clean hash in 10,000 tries")


def shuffled(value: Any, chance: random.Random) -> Any:
    """The same JSON with the keys of every object in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(item, chance)) for key, item in value.items()]
        chance.shuffle(items)
        return dict(items)
    if isinstance(value, list):
        return [shuffled(item, chance) for item in value]
    return value


def test_the_worked_example_of_the_spec() -> None:
    schema = Schema(
        {
            "type": "object",
            "properties": {"name": {"type": ["null", "string"]}, "id": {"type": "integer"}},
        },
        ("id",),
    )
    assert schema.canonical() == WORKED_EXAMPLE
    assert schema.hash() == "StxYGwZ"


@given(json_objects, key_properties)
def test_the_hash_follows_the_rule(schema: dict[str, Any], keys: list[str]) -> None:
    assert Schema(schema, keys).hash() == by_the_rule(schema, keys)


@given(st.binary(max_size=40))
def test_a_hash_is_seven_letters_and_digits(text: bytes) -> None:
    assert re.fullmatch(r"[0-9A-Za-z]{7}", hash_text(text), re.ASCII)


@given(json_objects, key_properties, st.randoms(), st.sampled_from([None, 1, "\t"]))
def test_key_order_and_white_space_do_not_matter(
    schema: dict[str, Any], keys: list[str], chance: random.Random, indent: Any
) -> None:
    message = {"type": "SCHEMA", "stream": "s", "schema": schema, "key_properties": keys}
    line = json.dumps(shuffled(message, chance), indent=indent).replace("\n", " ").encode()
    read = decode_schema(line)
    assert read.canonical() == Schema(schema, keys).canonical()
    assert (read.hash(), read.digest()) == (
        Schema(schema, keys).hash(),
        Schema(schema, keys).digest(),
    )


@given(json_objects, json_objects)
def test_the_digest_tells_schemas_apart(one: dict[str, Any], other: dict[str, Any]) -> None:
    same = Schema(one).canonical() == Schema(other).canonical()
    assert (Schema(one).digest() == Schema(other).digest()) == same


def test_the_order_of_key_properties_matters() -> None:
    assert Schema({}, ("a", "b")).hash() != Schema({}, ("b", "a")).hash()


@pytest.mark.parametrize("number", [2**63, 2**64, -(2**64), 10**300])
def test_integers_past_64_bits_are_exact(number: int) -> None:
    line = schema_line(schema={"maximum": number})
    assert str(number).encode() in decode_schema(line).canonical()
    assert decode_schema(line).hash() != Schema({"maximum": number + 1}, ("id",)).hash()


def test_characters_are_hashed_as_utf8_however_they_were_sent() -> None:
    raw = '{"type":"SCHEMA","stream":"s","schema":{"title":"Größe 🌊"}}'.encode()
    escaped = (
        b'{"type":"SCHEMA","stream":"s","schema":{"title":"Gr\\u00f6\\u00dfe \\ud83c\\udf0a"}}'
    )
    assert decode_schema(raw) == decode_schema(escaped)
    assert "Größe 🌊".encode() in decode_schema(escaped).canonical()


def test_a_lone_surrogate_has_a_hash_too() -> None:
    line = b'{"type":"SCHEMA","stream":"s","schema":{"title":"\\ud800"}}'
    assert decode_schema(line).hash() == by_the_rule({"title": "\ud800"}, [])


@pytest.mark.parametrize("sent", [b"", b',"key_properties":null', b',"key_properties":[]'])
def test_missing_key_properties_are_an_empty_list(sent: bytes) -> None:
    line = b'{"type":"SCHEMA","stream":"s","schema":{"type":"object"}%s}' % sent
    assert decode_schema(line).canonical() == b'{"key_properties":[],"schema":{"type":"object"}}'
