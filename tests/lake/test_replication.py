"""Which commits make up the current rows: by what is set, or by what the lake knows."""

from __future__ import annotations

import json
from typing import Any

import pytest

from singerlake.errors import ConfigError, MissingManifest
from singerlake.lake import Lake
from singerlake.lake.extent import ALL, Extent
from singerlake.lake.replication import Current, Method, current, replication
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from tests.lake.landing import KEYS, STREAM, TAP, edit, land, new_store, schema_line
from tests.lake.merging import OPTIONS
from tests.lake.running import Running, land_run

CATALOGUE = f"raw/{TAP}/catalogue.json"


def current_of(store: Store, asked: Method | None = None, extent: Extent = ALL) -> Current:
    return current(Lake(store).stream(TAP, STREAM).snapshot(), extent, asked)


def rows(store: Store, asked: Method | None = None) -> list[int]:
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    return [record["id"] for record in snapshot.records(current_of(store, asked).selection)]


def two_runs(bookmark: bool | None) -> Store:
    store = new_store()
    for number in range(2):
        run = Running(store, f"run-{number}")
        run.commit([10 * number, 10 * number + 1])
        run.end(bookmark=bookmark)
    return store


def set_method(store: Store, method: str) -> None:
    def change(body: dict[str, Any]) -> None:
        body["streams"][0]["metadata"][0]["metadata"]["replication-method"] = method
        body.pop("document_checksum", None)

    edit(store, CATALOGUE, change)


def test_a_tap_without_a_bookmark_sends_the_table_whole() -> None:
    store = two_runs(bookmark=False)
    assert rows(store) == [10, 11]
    assert current_of(store).warning == ""
    assert rows(store, "incremental") == [0, 1, 10, 11]
    land_run(store, "ended", [20], outcome="ended")
    assert rows(store) == [10, 11]
    vacuum(store, KEYS, OPTIONS)
    assert rows(store) == [10, 11]


def test_a_tap_with_a_bookmark_sends_what_changed() -> None:
    store = two_runs(bookmark=True)
    assert rows(store) == [0, 1, 10, 11]
    assert current_of(store).warning == ""
    assert rows(store, "full_table") == [10, 11]


def test_where_runs_or_the_schema_contradict_each_other_nobody_knows() -> None:
    """A run of changes that had nothing to send must not empty the table."""
    store = two_runs(bookmark=True)
    run = Running(store, "nothing new")
    run.end(bookmark=False)
    assert rows(store) == [0, 1, 10, 11]
    assert "Set replication_method" in current_of(store).warning
    line = json.loads(schema_line()) | {"bookmark_properties": ["id"]}
    other = new_store()
    for number in range(2):
        run = Running(other, f"run-{number}", schema=json.dumps(line).encode())
        run.commit([number])
        run.end(bookmark=False)
    assert rows(other) == [0, 1]
    assert "Set replication_method" in current_of(other).warning


def test_where_nobody_knows_a_warning_says_which_setting_decides() -> None:
    store = two_runs(bookmark=None)
    assert rows(store) == [0, 1, 10, 11]
    assert "Set replication_method" in current_of(store).warning
    assert current_of(store, "full_table").warning == ""
    once = new_store()
    land(once, [1])
    assert current_of(once).warning == "", "one run is one run"


@pytest.mark.parametrize(
    ("told", "method"),
    [("FULL_TABLE", "full_table"), ("INCREMENTAL", "incremental"), ("LOG_BASED", "incremental")],
)
def test_the_catalogue_comes_first(told: str, method: str) -> None:
    store = two_runs(bookmark=told == "FULL_TABLE")
    set_method(store, told)
    found = replication(Lake(store).stream(TAP, STREAM).snapshot())
    assert (found.method, found.why) == (method, f"the catalogue has {told}")


def test_a_schema_that_names_its_bookmark_is_of_changes() -> None:
    store = new_store()
    line = json.loads(schema_line()) | {"bookmark_properties": ["id"]}
    for number in range(2):
        with Lake(store).writer(TAP, f"run-{number}") as writer:
            writer.write(json.dumps(line).encode())
            writer.write(b'{"type":"RECORD","stream":"orders","record":{"id":1}}')
    assert current_of(store).warning == ""
    assert replication(Lake(store).stream(TAP, STREAM).snapshot()).method == "incremental"


def test_a_full_table_without_a_complete_run_is_all_with_a_warning_or_an_error() -> None:
    store = new_store()
    land_run(store, "one", [1], outcome="ended")
    land_run(store, "two", [2], outcome="ended")
    set_method(store, "FULL_TABLE")
    assert rows(store) == [1, 2]
    assert "has no complete run" in current_of(store).warning
    with pytest.raises(ConfigError, match="expected a run that is complete"):
        rows(store, "full_table")
    assert current_of(store, "full_table", Extent(outcomes=("ended",))).run is not None


def test_a_full_table_that_is_empty_now_is_empty() -> None:
    store = two_runs(bookmark=False)
    land_run(store, "empty")
    assert rows(store, "full_table") == []


def test_without_a_manifest_nobody_knows_runs() -> None:
    store = two_runs(bookmark=False)
    store.delete(KEYS.manifest)
    assert sorted(rows(store)) == [0, 1, 10, 11]
    assert "singerlake rebuild" in current_of(store).warning
    assert current_of(store, "incremental").warning == ""
    with pytest.raises(MissingManifest, match="singerlake rebuild"):
        current_of(store, "full_table")


def test_what_a_catalogue_may_hold_is_no_error() -> None:
    store = two_runs(bookmark=None)
    set_method(store, "SOMETHING")
    assert replication(Lake(store).stream(TAP, STREAM).snapshot()).method is None
