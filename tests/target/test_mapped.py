"""The SDK's features: they change records as they do in any target, and nothing else changes."""

from __future__ import annotations

import gc
import json
from pathlib import Path
from typing import Any

import pytest
from singer_sdk.exceptions import InvalidRecord

from singerlake import errors
from singerlake.lake import Writer
from target_singerlake.sink import LakeSink
from target_singerlake.target import TargetSingerlake
from tests.target.driving import (
    MAPPED,
    TAP_ID,
    assert_clean,
    files,
    lake,
    land,
    numbers,
    record,
    records,
    run,
    schema,
    state,
    stored,
    timed,
)

TEXT = {"type": ["null", "string"]}
SECRET = "a value that no log may hold"


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def stream_schema(root: str, stream: str) -> dict[str, Any]:
    properties: dict[str, Any] = lake(root).tap(TAP_ID).catalogue()[stream]["schema"]["properties"]
    return properties


def test_a_stream_map_renames_filters_adds_and_drops(root: str) -> None:
    maps = {
        "s": {
            "__alias__": "renamed",
            "__filter__": "id % 2 == 0",
            "new_name": "name",
            "name": None,
            "double": "int(id) * 2",
        }
    }
    lines = [schema("s", name=TEXT), *(record("s", n, name=f"n{n}") for n in range(4))]
    states = land(
        [*lines, schema("other"), record("other", 1), state({"at": 1})], root, stream_maps=maps
    )
    assert records(root, "renamed") == [
        {"id": 0, "new_name": "n0", "double": 0},
        {"id": 2, "new_name": "n2", "double": 4},
    ]
    assert stream_schema(root, "renamed").keys() == {"id", "new_name", "double"}
    assert numbers(root, "other") == [1]
    assert states == [b'{"at": 1}']
    assert set(lake(root).tap(TAP_ID).catalogue()) == {"renamed", "other"}
    assert_clean(root)


def test_a_stream_may_be_copied_and_another_left_out(root: str) -> None:
    maps = {"copy": {"__source__": "s", "id": "id", "__else__": None}, "other": None}
    lines = [schema("s", name=TEXT), record("s", 1, name="x"), schema("other"), record("other", 1)]
    land(lines, root, stream_maps=maps)
    assert records(root, "s") == [{"id": 1, "name": "x"}]
    assert records(root, "copy") == [{"id": 1}]
    assert_clean(root)


def test_every_stream_may_be_left_out(root: str) -> None:
    lines = [schema("s"), record("s", 1), schema("s", x=TEXT), record("s", 2), state({"at": 1})]
    maps = {"__else__": None}
    assert land(lines, root, stream_maps=maps) == [b'{"at": 1}']
    assert maps == {"__else__": None}
    assert not [row for row in lake(root).store.list("") if "/s/" in row.key]


def test_nothing_lands_of_a_stream_that_is_left_out(root: str) -> None:
    version = json.dumps({"type": "ACTIVATE_VERSION", "stream": "other", "version": 1})
    sent = [schema("other"), record("other", 1), version, schema("other"), schema("other", x=TEXT)]
    lines = [schema("s"), record("s", 1), *sent, record("other", 2)]
    states = land([*lines, state({"at": 1})], root, stream_maps={"other": None})
    assert states == [b'{"at": 1}']
    assert numbers(root, "s") == [1]
    assert set(lake(root).tap(TAP_ID).catalogue()) == {"s"}
    assert not [row for row in lake(root).store.list("") if "/other/" in row.key]
    assert_clean(root)


def test_a_copy_lands_of_a_stream_that_is_left_out(root: str) -> None:
    maps = {"copy": {"__source__": "s", "id": "id"}, "s": None}
    land([schema("s"), record("s", 1), schema("s", x=TEXT), record("s", 2)], root, stream_maps=maps)
    assert numbers(root, "copy") == [1, 2]
    assert set(lake(root).tap(TAP_ID).catalogue()) == {"copy"}


def test_a_map_that_cannot_be_worked_out_ends_the_run_and_keeps_what_came(tmp_path: Path) -> None:
    """As where a record lacks the property that the map reads."""
    maps = {"s": {"double": "int(name) * 2"}}
    lines = [schema("s", name=TEXT), record("s", 1, name="7"), state({"at": 1})]
    outcome = run([*lines, record("s", 2)], tmp_path, stream_maps=maps)
    assert "ConfigError: line 4 of the input, stream 's'" in outcome.refused()
    assert outcome.states == [b'{"at": 1}']
    assert [each["double"] for each in records(tmp_path, "s")] == [14]


def test_a_map_that_fails_on_the_data_ends_the_run_and_tells_no_data(tmp_path: Path) -> None:
    lines = [schema("s"), record("s", 1), state({"at": 1}), record("s", 0, x=SECRET)]
    outcome = run(lines, tmp_path, stream_maps={"s": {"y": "1 / id"}})
    error = outcome.refused()
    assert "BadMessage: line 4 of the input, stream 's'" in error
    assert "ZeroDivisionError" in error
    assert SECRET not in outcome.log
    assert outcome.states == [b'{"at": 1}']
    assert [each["y"] for each in records(tmp_path, "s")] == ["1.0"]


def test_what_fails_in_the_writer_is_not_taken_for_bad_input(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(Writer, "write", full)
    with pytest.raises(OSError, match="no space left"):
        land([schema("s"), record("s", 1), state({"at": 1})], root, **MAPPED)


def test_nan_and_infinity_stay(root: str) -> None:
    line = record("s", 1, x=[float("nan"), float("inf"), float("-inf")])
    land([schema("s"), line], root, **MAPPED)
    assert b'"x":[NaN,Infinity,-Infinity]' in stored(root, "s")[0]


def test_no_interval_commits_the_records_of_a_block_at_once(root: str) -> None:
    lines = [schema("s"), *(record("s", number) for number in range(30))]
    land(lines, root, commit_interval_seconds=0, **MAPPED)
    assert [file.records for file in files(root, "s")] == [30]


def test_nested_properties_are_flattened(root: str) -> None:
    inner = {"type": "object", "properties": {"b": TEXT, "c": {"type": "integer"}}}
    config = {"flattening_enabled": True, "flattening_max_depth": 2}
    land([schema("s", a=inner), record("s", 1, a={"b": "x", "c": 2})], root, **config)
    assert records(root, "s") == [{"id": 1, "a__b": "x", "a__c": 2}]
    assert stream_schema(root, "s").keys() == {"id", "a__b", "a__c"}
    assert_clean(root)


def test_metadata_is_added_to_records_and_schema(root: str) -> None:
    land([schema("s"), timed("s", 1)], root, add_record_metadata=True)
    (found,) = records(root, "s")
    expected = {"extracted_at", "received_at", "batched_at", "deleted_at", "sequence"}
    expected |= {"table_version", "sync_started_at"}
    assert {name for name in found if name != "id"} == {f"_sdc_{name}" for name in expected}
    assert found["_sdc_extracted_at"] == "2026-01-02T03:04:05.000001Z"
    assert found.keys() == stream_schema(root, "s").keys()
    assert_clean(root)


@pytest.mark.parametrize("config", [{}, MAPPED], ids=["raw path", "mapped path"])
def test_a_deletion_that_the_tap_tells_of_is_kept(root: str, config: dict[str, Any]) -> None:
    moment = "2026-01-01T00:00:00Z"
    deleted = {"_sdc_deleted_at": {"type": ["null", "string"], "format": "date-time"}}
    land([schema("s", **deleted), record("s", 1, _sdc_deleted_at=moment)], root, **config)
    assert records(root, "s") == [{"id": 1, "_sdc_deleted_at": moment}]
    assert "_sdc_deleted_at" in stream_schema(root, "s")


def test_an_invalid_record_ends_the_run_where_records_are_validated(tmp_path: Path) -> None:
    lines = [schema("s"), record("s", 1), state({"at": 1})]
    bad = json.dumps({"type": "RECORD", "stream": "s", "record": {"id": SECRET}})
    outcome = run([*lines, bad, record("s", 3), state({"at": 3})], tmp_path, validate_records=True)
    error = outcome.refused()
    assert "InvalidRecord: line 4 of the input, stream 's'" in error
    assert "the rule `type: 'integer'` of its schema at $.id" in error
    assert SECRET not in outcome.log
    assert outcome.states == [b'{"at": 1}']
    assert numbers(tmp_path, "s") == [1]
    assert_clean(tmp_path)


def test_an_invalid_record_is_kept_where_they_are_not(root: str) -> None:
    bad = '{"type": "RECORD", "stream": "s", "record": {"id": "one"}}'
    for config in ({}, MAPPED):
        land([schema("s"), bad], root, **config)
    assert records(root, "s") == [{"id": "one"}] * 2


def test_the_sdk_sees_the_error_of_its_own_kind_and_so_do_we(root: str) -> None:
    bad = '{"type": "RECORD", "stream": "s", "record": {"id": "one"}}'
    with pytest.raises(InvalidRecord):
        land([schema("s"), bad], root, validate_records=True)
    with pytest.raises(errors.InvalidRecord):
        land([schema("s"), bad], root, validate_records=True)


def test_a_schema_that_is_none_ends_the_run_where_records_are_validated(tmp_path: Path) -> None:
    lines = [schema("s"), record("s", 1), state({"at": 1}), schema("t", x={"type": "nonsense"})]
    outcome = run(lines, tmp_path, validate_records=True)
    assert "BadMessage: line 4 of the input, stream 't'" in outcome.refused()
    assert outcome.states == [b'{"at": 1}']
    assert numbers(tmp_path, "s") == [1]


@pytest.mark.parametrize(
    "config", [MAPPED, {"validate_records": True}, {"add_record_metadata": True}]
)
def test_values_are_exact_after_the_sdk_has_read_them(root: str, config: dict[str, Any]) -> None:
    values = {
        "when": '"2026-01-01 12:00:00+02:00"',
        "day": '"0001-01-01"',
        "big": "123456789012345678901234567890",
        "exact": "0.1000000000000000055511151231257827",
        "tiny": "1E-30",
        "text": '"é \\u00e9 😀 \\u2028"',
    }
    more = {
        "when": {"type": "string", "format": "date-time"},
        "day": {"type": "string", "format": "date"},
        "big": {"type": "integer"},
        "exact": {"type": "number"},
        "tiny": {"type": "number"},
        "text": TEXT,
    }
    body = ", ".join(f'"{name}": {text}' for name, text in values.items())
    line = f'{{"type": "RECORD", "stream": "s", "record": {{"id": 1, {body}}}}}'
    land([schema("s", **more), line], root, **config)
    (found,) = records(root, "s")
    expected = json.loads(line, parse_float=str)["record"]
    assert {name: found[name] for name in expected} == expected
    assert stored(root, "s")[0].count(b"0.1000000000000000055511151231257827") == 1


def test_sinks_of_earlier_schemas_do_not_pile_up(
    root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[int] = []
    at_the_end = TargetSingerlake.process_endofpipe

    def counting(target: TargetSingerlake) -> None:
        gc.collect()
        sinks = [each for each in gc.get_objects() if isinstance(each, LakeSink)]
        held.append(sum(each._target is target for each in sinks))
        at_the_end(target)

    monkeypatch.setattr(TargetSingerlake, "process_endofpipe", counting)
    turns = [(schema("s", name=TEXT) if n % 2 else schema("s"), record("s", n)) for n in range(40)]
    land([line for turn in turns for line in turn], root, validate_records=True)
    assert held == [1]
    assert sorted(numbers(root, "s")) == list(range(40))
