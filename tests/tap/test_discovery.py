"""Discovery: one request, and what it finds is the catalogue."""

from __future__ import annotations

import json
from typing import Any

import pytest

from singerlake.errors import ConfigError, NotALake, UnknownTap
from singerlake.format import catalogue
from singerlake.store import Counting, open_store
from tap_singerlake import source as source_module
from tests.tap.replay import (
    STREAM,
    TAP_ID,
    activate,
    config,
    deselect,
    discover,
    lake,
    land,
    land_numbers,
    new_root,
    properties,
    record,
    replay,
    schema,
    stream_keys,
)


@pytest.fixture
def root() -> str:
    """A lake of two streams, one with two versions."""
    address = new_root()
    land(
        address,
        [schema(), record(1), schema(stream="customers"), record(1, "customers")],
        [schema(properties("name", "colour")), record(2, name="b", colour="red"), activate(7)],
    )
    return address


def counted(monkeypatch: pytest.MonkeyPatch) -> Counting:
    """Every store that the tap opens from now on counts its calls here."""
    stores: list[Counting] = []

    def opened(address: str, options: object) -> Counting:
        stores.append(Counting(open_store(address)))
        return stores[-1]

    monkeypatch.setattr(source_module, "open_store", opened)
    return _Late(stores)  # type: ignore[return-value]


class _Late:
    """The one store that was opened, once it is."""

    def __init__(self, stores: list[Counting]) -> None:
        self._stores = stores

    def __getattr__(self, name: str) -> object:
        (store,) = self._stores
        return getattr(store, name)


def test_costs_one_request(root: str, monkeypatch: pytest.MonkeyPatch) -> None:
    store = counted(monkeypatch)
    discover(config(root))
    assert store.counts == {"read": 1}


def test_a_replay_reads_each_document_and_each_file_once(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = counted(monkeypatch)
    replay(config(root))
    # The catalogue, two manifests, three files.
    assert store.counts == {"read": 3, "open": 3}


def test_a_replay_with_a_property_deselected_costs_the_same(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = counted(monkeypatch)
    replay(config(root, flattening_enabled=True, flattening_max_depth=1))
    assert store.counts == {"read": 3, "open": 3}


def test_is_the_catalogue(root: str) -> None:
    entries = lake(root).tap(TAP_ID).catalogue()
    found = {entry["tap_stream_id"]: entry for entry in discover(config(root))["streams"]}
    assert found.keys() == entries.keys() == {STREAM, "customers"}
    for name, entry in entries.items():
        assert found[name]["schema"] == entry["schema"]
        assert found[name]["key_properties"] == entry["key_properties"] == ["id"]
        assert found[name]["replication_method"] == "INCREMENTAL"
    assert found[STREAM]["schema"]["properties"].keys() == {"id", "name", "colour"}


def test_keys_are_always_included_and_the_rest_can_be_chosen(root: str) -> None:
    entry = next(e for e in discover(config(root))["streams"] if e["stream"] == STREAM)
    inclusion = {tuple(m["breadcrumb"]): m["metadata"]["inclusion"] for m in entry["metadata"]}
    assert inclusion[("properties", "id")] == "automatic"
    assert inclusion[("properties", "colour")] == "available"


def test_only_the_streams_that_are_set(root: str) -> None:
    found = discover(config(root, streams=["customers"]))["streams"]
    assert [entry["stream"] for entry in found] == ["customers"]
    assert {m.get("stream") for m in replay(config(root, streams=["customers"])).messages} == {
        "customers",
        None,
    }


def test_an_unknown_stream_is_an_error_that_names_those_there_are(root: str) -> None:
    with pytest.raises(ConfigError, match=r"names orderz, and .* has only customers, orders"):
        discover(config(root, streams=["orderz"]))


def test_the_only_tap_of_a_lake_needs_no_name(root: str) -> None:
    settings = {"lake_root": root}
    assert replay(settings).data == replay(config(root)).data


def test_of_several_taps_one_must_be_chosen(root: str) -> None:
    land(root, [schema(), record(1)], tap_id="tap-other--x")
    with pytest.raises(ConfigError, match=f"tap_id is not set.*tap-other--x, {TAP_ID}"):
        discover({"lake_root": root})


def test_an_unknown_tap(root: str) -> None:
    with pytest.raises(UnknownTap, match="tap-nobody--knows"):
        discover({"lake_root": root, "tap_id": "tap-nobody--knows"})


def test_no_lake_at_all() -> None:
    with pytest.raises(NotALake):
        discover({"lake_root": new_root()})
    with pytest.raises(NotALake):
        discover(config(new_root()))


def test_a_name_that_is_nearly_right(root: str) -> None:
    with pytest.raises(UnknownTap, match=f"Did you mean '{TAP_ID}'"):
        discover({"lake_root": root, "tap_id": TAP_ID[:-1]})
    with pytest.raises(ConfigError, match=r"orderz.* Did you mean 'orders'"):
        discover(config(root, streams=["orderz"]))


def test_a_lake_with_no_tap_yet() -> None:
    root = new_root()
    land(root)
    with pytest.raises(ConfigError, match="none yet"):
        discover({"lake_root": root})


def test_a_missing_catalogue_is_made_from_the_files(root: str) -> None:
    before = discover(config(root))
    store = lake(root).store
    keys = [row.key for row in store.list("") if row.key.endswith("/catalogue.json")]
    assert len(keys) == 1
    store.delete(keys[0])
    assert discover(config(root)) == before


def test_a_stream_without_records_has_its_schema() -> None:
    root = new_root()
    land(root, [schema(stream="empty"), schema(), record(1)])
    printed = replay(config(root))
    assert printed.of("SCHEMA", "empty")[0]["schema"]["properties"].keys() == {"id", "name"}
    assert printed.numbers() == [1]


@pytest.mark.parametrize("name", ["public-orders", "a/b", "Größe", "..", "_hidden", "x y\tz"])
def test_any_name(name: str) -> None:
    root = new_root()
    land_numbers(root, 1, 2, stream=name)
    assert discover(config(root))["streams"][0]["tap_stream_id"] == name
    printed = replay(config(root))
    assert printed.numbers(name) == [1, 2]
    assert printed.sequences(name) == [1, 2]


def test_the_discovered_catalog_is_valid_json_for_other_tools(root: str) -> None:
    catalog = json.loads(json.dumps(discover(config(root))))
    assert replay(config(root), catalog=catalog).data == replay(config(root)).data


def test_the_entry_in_the_store_names_the_newest_version(root: str) -> None:
    entry = lake(root).tap(TAP_ID).catalogue()[STREAM]
    newest = lake(root).stream(TAP_ID, STREAM).snapshot().manifest.versions
    assert newest[catalogue.schema_hash(entry)].version == 2
    assert stream_keys().stream == STREAM


ODD_SCHEMAS: list[dict[str, Any]] = [
    {},
    {"type": "object"},
    {"properties": []},
    {"properties": None},
    {"properties": {"id": True}},
    {"properties": {"id": {}, "x": None}},
    {"properties": {"id": {}, "x": []}},
    {"properties": {"id": {}, "x": {"type": "object", "properties": {"y": False}}}},
    {"properties": {"id": {}, "x": {"type": "array", "items": True}}},
    {"properties": {"id": {}, "x": {"type": "array", "items": [{}, {"type": "string"}]}}},
    {"properties": {"id": {}, "x": {"type": None}}},
    {"properties": {"id": {}, "x": {"type": 5, "anyOf": None}}},
    {"properties": {"id": {}, "x": {"anyOf": [True, {"type": "string"}]}}},
    {"properties": {"id": {}, "name": {}}, "required": True},
]


@pytest.mark.parametrize("odd", ODD_SCHEMAS, ids=str)
def test_any_schema_that_landed_can_be_replayed_and_selected_from(odd: dict[str, Any]) -> None:
    """A stream whose schema the SDK cannot walk would take the others of its tap with it."""
    root = new_root()
    lines = [schema(schema=odd), record(1)]
    land(root, lines, [schema(stream="customers"), record(1, "customers")])
    catalog = json.loads(json.dumps(discover(config(root))))
    assert lines == [
        line for line in replay(config(root), catalog=catalog).data if b'"orders"' in line
    ]
    less = replay(config(root), catalog=deselect(catalog, "name"))
    assert less.records(STREAM) == [{"id": 1}]
    assert less.numbers("customers") == [1]
    assert "name" not in less.of("SCHEMA", STREAM)[0]["schema"].get("properties", {})
