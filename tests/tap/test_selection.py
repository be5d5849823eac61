"""Selection: what is deselected is really absent."""

from __future__ import annotations

import re
from typing import Any

import pytest

from singerlake.errors import BadMessage
from tests.tap.replay import (
    STREAM,
    Output,
    activate,
    config,
    deselect,
    discover,
    files,
    land,
    new_root,
    properties,
    record,
    replay,
    schema,
)

pytestmark = pytest.mark.usefixtures("door")

ADDRESS = {
    "type": ["object", "null"],
    "properties": {
        "city": {"type": "string"},
        "geo": {
            "type": "object",
            "properties": {"lat": {"type": "number"}, "lon": {"type": "number"}},
        },
    },
    "required": ["city"],
}
FIELDS: dict[str, Any] = {**properties("name", "secret"), "address": ADDRESS}


@pytest.fixture
def root() -> str:
    address = new_root()
    place = {"city": "Bern", "geo": {"lat": 46.9480, "lon": 7.4474}}
    land(
        address,
        [
            schema(FIELDS, description="kept"),
            record(1, name="a", secret="hush", address=place),
            record(2, name="b", secret="hush", address=None),
            activate(3),
            schema(stream="customers"),
            record(9, "customers"),
        ],
    )
    return address


def replay_without(root: str, *breadcrumb: str, stream: str = STREAM) -> Output:
    catalog = deselect(discover(config(root)), *breadcrumb, stream=stream)
    return replay(config(root), catalog=catalog)


def test_a_property_is_absent_from_schema_and_records(root: str) -> None:
    printed = replay_without(root, "secret")
    (message,) = printed.of("SCHEMA", STREAM)
    assert message["schema"]["properties"].keys() == {"id", "name", "address"}
    assert [row.keys() for row in printed.records(STREAM)] == [{"id", "name", "address"}] * 2
    assert b"secret" not in printed.raw
    assert b"hush" not in printed.raw


def test_a_property_in_an_array_is_absent_too() -> None:
    line = {
        "type": ["object", "null"],
        "properties": {"sku": {"type": "string"}, "price": {"type": "number"}},
        "required": ["sku", "price"],
    }
    grid = {"type": "array", "items": {"type": "array", "items": line}}
    root = new_root()
    rows = [{"sku": "a", "price": 9.5}, None, {"sku": "b"}]
    either = {"anyOf": [{"type": "array", "items": line}, {"type": ["string", "null"]}]}
    fields = {"lines": either, "grid": grid}
    land(
        root,
        [
            schema(fields),
            record(1, lines=rows, grid=[rows, []]),
            record(2, lines=None, grid=[]),
            record(3, lines="odd", grid=[3]),
        ],
    )
    catalog = discover(config(root))
    for crumbs in (["lines", "items"], ["grid", "items", "items"]):
        breadcrumb = ["properties", *crumbs, "properties", "price"]
        row = {"breadcrumb": breadcrumb, "metadata": {"selected": False}}
        catalog["streams"][0]["metadata"].append(row)
    printed = replay(config(root), catalog=catalog)
    (message,) = printed.of("SCHEMA", STREAM)
    declared = message["schema"]["properties"]
    for items in (declared["lines"]["anyOf"][0]["items"], declared["grid"]["items"]["items"]):
        assert (items["properties"], items["required"]) == ({"sku": {"type": "string"}}, ["sku"])
    left = [{"sku": "a"}, None, {"sku": "b"}]
    assert [(row["lines"], row["grid"]) for row in printed.records(STREAM)] == [
        (left, [left, []]),
        (None, []),
        ("odd", [3]),
    ]
    assert b"price" not in printed.raw


def test_a_nested_property_is_absent_too(root: str) -> None:
    printed = replay_without(root, "address", "geo", "lat")
    (message,) = printed.of("SCHEMA", STREAM)
    geo = message["schema"]["properties"]["address"]["properties"]["geo"]
    assert geo["properties"] == {"lon": {"type": "number"}}
    assert printed.records(STREAM)[0]["address"] == {"city": "Bern", "geo": {"lon": 7.4474}}
    assert printed.records(STREAM)[1]["address"] is None
    assert b'"lat"' not in printed.raw


def test_a_required_property_is_no_longer_required(root: str) -> None:
    printed = replay_without(root, "address", "city")
    address = printed.of("SCHEMA", STREAM)[0]["schema"]["properties"]["address"]
    assert address["required"] == []
    assert address["properties"].keys() == {"geo"}


def test_a_key_cannot_be_deselected(root: str) -> None:
    printed = replay_without(root, "id")
    assert printed.numbers(STREAM) == [1, 2]


def test_a_stream_is_absent(root: str) -> None:
    printed = replay_without(root, stream="customers")
    assert {message.get("stream") for message in printed.messages} == {STREAM, None}
    assert printed.numbers() == [1, 2]


def test_other_streams_still_pass_as_they_are(root: str) -> None:
    whole, less = replay(config(root)), replay_without(root, "secret")
    customers = [line for line in whole.data if b'"customers"' in line]
    assert [line for line in less.data if b'"customers"' in line] == customers


def test_times_and_versions_and_places_are_kept(root: str) -> None:
    whole, less = replay(config(root)), replay_without(root, "secret")
    assert [message["type"] for message in less.messages] == whole.kinds
    assert less.of("ACTIVATE_VERSION") == whole.of("ACTIVATE_VERSION")


def test_numbers_are_not_rounded_on_the_way() -> None:
    root = new_root()
    number = b"0.1000000000000000055511151231257827"
    line = b'{"type":"RECORD","stream":"orders","record":{"id":1,"name":"x","n":%s,"i":%s}}'
    fields = {**properties("name"), "n": {"type": "number"}, "i": {"type": "integer"}}
    land(root, [schema(fields), line % (number, b"123456789012345678901234567890")])
    printed = replay_without(root, "name")
    assert number in printed.raw
    assert b"123456789012345678901234567890" in printed.raw


@pytest.mark.parametrize("value", [b"NaN", b"-Infinity", b"1" * 5000, b"1E+400"])
def test_a_number_that_only_some_can_read_stays_as_it_is(value: bytes) -> None:
    root = new_root()
    line = b'{"type":"RECORD","stream":"orders","record":{"id":1,"name":"x","n":%s}}' % value
    land(root, [schema({**properties("name"), "n": {"type": "number"}}), line])
    assert b'"record":{"id":1,"n":%s}' % value in replay_without(root, "name").raw


def test_a_record_too_deep_to_select_from_is_an_error_that_names_its_file() -> None:
    root = new_root()
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    line = b'{"type":"RECORD","stream":"orders","record":{"id":1,"name":"x","n":%s}}' % deep
    land(root, [schema(), line])
    assert deep in replay(config(root)).raw
    with pytest.raises(BadMessage, match=re.escape(files(root)[0].path)):
        replay_without(root, "name")


def test_the_keys_of_an_older_version_cannot_be_deselected() -> None:
    root = new_root()
    land(
        root,
        [schema(), record(1)],
        [schema({"uid": {}, **properties("name")}, key_properties=["uid"]), record(2, uid="u")],
    )
    old, new = replay_without(root, "id").of("SCHEMA")
    assert (old["key_properties"], old["schema"]["properties"].keys()) == (["id"], {"id", "name"})
    assert (new["key_properties"], new["schema"]["properties"].keys()) == (["uid"], {"uid", "name"})
    assert replay_without(root, "id").records() == [{"id": 1, "name": "no 1"}, {"uid": "u"}]


def test_an_activation_without_a_version_passes_as_it_is() -> None:
    root = new_root()
    line = b'{"type":"ACTIVATE_VERSION", "stream":"orders"}'
    land(root, [schema(), record(1), line])
    assert line in replay_without(root, "name").lines
    renamed = replay(config(root, stream_maps={STREAM: {"__alias__": "sales"}}))
    assert renamed.of("ACTIVATE_VERSION") == [{"type": "ACTIVATE_VERSION", "stream": "sales"}]
    dropped = replay(config(root, stream_maps={STREAM: None}))
    assert dropped.of("ACTIVATE_VERSION") == []


def test_properties_of_older_versions_follow_the_selection() -> None:
    root = new_root()
    land(
        root,
        [schema(properties("name", "secret", "old")), record(1, name="a", secret="hush", old="o")],
        [schema(properties("name", "secret")), record(2, name="b", secret="hush")],
    )
    printed = replay_without(root, "secret")
    assert [m["schema"]["properties"].keys() for m in printed.of("SCHEMA")] == [
        {"id", "name", "old"},
        {"id", "name"},
    ]
    assert printed.records() == [{"id": 1, "name": "a", "old": "o"}, {"id": 2, "name": "b"}]


def test_a_catalog_older_than_the_newest_version() -> None:
    """Meltano keeps catalogs: the SCHEMA is still that of the records which follow it."""
    root = new_root()
    land(root, [schema(), record(1)])
    old = discover(config(root))
    first = replay(config(root), catalog=old)
    land(root, [schema(properties("name", "new")), record(2, name="b", new="n")])
    second = replay(config(root), catalog=old, state=first.state)
    assert second.of("SCHEMA")[0]["schema"]["properties"].keys() == {"id", "name", "new"}
    assert second.records() == [{"id": 2, "name": "b", "new": "n"}]
    less = replay(config(root), catalog=deselect(old, "name"), state=first.state)
    assert less.of("SCHEMA")[0]["schema"]["properties"].keys() == {"id", "new"}
    assert less.records() == [{"id": 2, "new": "n"}]


def test_unknown_keywords_of_the_schema_survive_selection() -> None:
    root = new_root()
    fields = {**properties("name"), "n": {"type": "number", "x-unit": "kg", "examples": [1]}}
    land(root, [schema(fields), record(1, name="a", n=1)])
    (message,) = replay_without(root, "name").of("SCHEMA")
    assert message["schema"]["properties"]["n"] == fields["n"]


def test_streams_without_a_map_may_be_left_out(root: str) -> None:
    assert replay(config(root, stream_maps={"__else__": None})).data == []
    maps = {"__else__": None, "customers": {"label": "id"}}
    assert replay(config(root, stream_maps=maps)).records() == [
        {"id": 9, "name": "no 9", "label": 9}
    ]
