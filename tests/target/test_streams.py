"""Streams: their schemas, versions and order, as a tap may send them in one sync."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.target.driving import (
    PATHS,
    TAP_ID,
    as_sent,
    assert_clean,
    files,
    lake,
    land,
    numbers,
    record,
    records,
    schema,
    state,
    stored,
    timed,
)

pytestmark = pytest.mark.usefixtures("door")

TEXT = {"type": ["null", "string"]}


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def hashes(root: str, stream: str) -> list[str]:
    return [file.path.partition("/")[0] for file in files(root, stream)]


def test_a_changed_schema_starts_a_file_of_its_own(path: dict[str, Any], root: str) -> None:
    lines = [schema("s"), record("s", 1), schema("s", more=TEXT), record("s", 2)]
    land([*lines, record("s", 3), schema("s"), record("s", 4)], root, **path)
    assert numbers(root, "s") == [1, 2, 3, 4]
    first, second, third = hashes(root, "s")
    assert first == third != second
    assert len(lake(root).stream(TAP_ID, "s").snapshot().manifest.versions) == 2
    assert_clean(root)


def test_a_change_of_keys_alone_is_a_change(path: dict[str, Any], root: str) -> None:
    land([schema("s"), record("s", 1), schema("s", keys=[]), record("s", 2)], root, **path)
    assert len(set(hashes(root, "s"))) == 2
    assert_clean(root)


def test_a_schema_that_comes_again_starts_no_file(path: dict[str, Any], root: str) -> None:
    """Also where it is written in another way: keys in another order, other white space."""
    other = json.dumps(dict(reversed(json.loads(schema("s")).items())), indent=None)
    lines = [line for number in range(9) for line in (schema("s"), other, record("s", number))]
    land(lines, root, **path)
    assert numbers(root, "s") == list(range(9))
    assert len(files(root, "s")) == 1
    assert_clean(root)


def test_interleaved_streams_are_kept_apart_and_in_order(path: dict[str, Any], root: str) -> None:
    names = ["orders", "Größe", "a/b", "..", "public-orders", "Orders"]
    lines = [schema(name) for name in names]
    lines += [record(names[n % len(names)], n, stream_too=names[n % 2]) for n in range(600)]
    land(lines, root, **path)
    for at, name in enumerate(names):
        assert numbers(root, name) == list(range(at, 600, len(names)))
        assert len(files(root, name)) == 1
    assert_clean(root)


def test_a_stream_without_records_is_in_the_catalogue(path: dict[str, Any], root: str) -> None:
    land([schema("empty", more=TEXT), schema("s"), record("s", 1)], root, **path)
    entry = lake(root).tap(TAP_ID).catalogue()["empty"]
    assert entry["schema"]["properties"] == {"id": {"type": "integer"}, "more": TEXT}
    assert entry["key_properties"] == ["id"]
    assert_clean(root)


def test_the_catalogue_holds_the_last_schema(path: dict[str, Any], root: str) -> None:
    land([schema("s"), record("s", 1), schema("s", more=TEXT)], root, **path)
    assert "more" in lake(root).tap(TAP_ID).catalogue()["s"]["schema"]["properties"]


def test_versions_are_activated_where_the_tap_did(path: dict[str, Any], root: str) -> None:
    activate = json.dumps({"type": "ACTIVATE_VERSION", "stream": "s", "version": 7})
    versioned = record("s", 2).replace('"stream"', '"version": 7, "stream"')
    lines = [schema("s"), activate, record("s", 1), versioned, activate, record("s", 3), activate]
    land(lines, root, **path)
    messages = [json.loads(line) for line in stored(root, "s")]
    kinds = [message["type"][0] for message in messages]
    assert kinds == ["A", "R", "R", "A", "R", "A"]
    assert messages[2]["version"] == 7
    assert "version" not in messages[1]
    assert numbers(root, "s") == [1, 2, 3]
    assert_clean(root)


def test_a_stream_of_which_only_a_version_came_is_whole(path: dict[str, Any], root: str) -> None:
    activate = json.dumps({"type": "ACTIVATE_VERSION", "stream": "s", "version": 7})
    assert land([schema("s"), activate, state({"at": 1})], root, **path) == [b'{"at": 1}']
    assert [json.loads(line)["version"] for line in stored(root, "s")] == [7]
    assert_clean(root)


def test_lines_are_kept_as_they_came() -> None:
    """Whatever a tap writes between the values, and in whatever order."""
    root = "memory://as-they-came"
    lines = [
        '{"type":"RECORD","stream":"s","record":{},"time_extracted": "2026-01-01T00:00:00Z"}',
        '{ "record" : {"b":1.10, "id":2, "a":1e-400},"stream":"s" ,"type":"RECORD"}',
        '{"stream":"s","type":"RECORD","record":{"id":3,"é":"\\u00e9","\\ud83d\\ude00":"😀"}}',
        '{"type":"RECORD","stream":"\\u0073","record":{"id":4,"n":123456789012345678901234567890}}',
        '{"type":"RECORD","stream":"s","record":{"id":5,"stream":"x","type":"STATE"},"extra":[{}]}',
        '{"type":"RECORD","stream":"s","record":{"id":6,"x":NaN}}',
        '{"type":"RECORD","stream":"s","record":{"id":7,"lone":"\\ud800"}}',
    ]
    land([schema("s", keys=[]), *lines], root)
    assert [as_sent(line) for line in stored(root, "s")] == [line.encode() for line in lines]
    assert_clean(root)


@pytest.mark.parametrize("made", [record, timed])
@pytest.mark.parametrize("pad", [0, 3000])
def test_files_hold_the_number_of_records_whatever_their_size(
    path: dict[str, Any], root: str, made: Callable[..., str], pad: int
) -> None:
    """A block of small records holds many times as many."""
    lines = [schema("s"), *(made("s", n, pad="x" * pad) for n in range(1030))]
    land(lines, root, max_file_records=100, **path)
    assert numbers(root, "s") == list(range(1030))
    assert [file.records for file in files(root, "s")] == [100] * 10 + [30]
    assert_clean(root)


def test_files_are_closed_at_their_size(path: dict[str, Any], root: str) -> None:
    lines = [schema("s"), *(timed("s", n, pad=f"{n * 7919 % 10007:0500}") for n in range(4000))]
    land(lines, root, max_file_bytes=10_000, **path)
    assert numbers(root, "s") == list(range(4000))
    assert len(files(root, "s")) > 1
    assert_clean(root)


def test_a_second_run_adds_to_the_first(path: dict[str, Any], root: str) -> None:
    land([schema("s"), record("s", 1)], root, **path)
    land([schema("s"), record("s", 2)], root, **path)
    assert numbers(root, "s") == [1, 2]
    assert [file.sequence for file in files(root, "s")] == [1, 2]
    assert_clean(root)


def test_both_paths_agree_on_records_schema_and_hash() -> None:
    lines = [schema("s", keys=["id"], more=TEXT), timed("s", 1, more="x"), timed("s", 2, more=None)]
    for name, config in PATHS.items():
        land(lines, f"memory://agree-{name}", **config)
    raw, mapped = (f"memory://agree-{name}" for name in PATHS)
    assert records(raw, "s") == records(mapped, "s")
    assert hashes(raw, "s") == hashes(mapped, "s")
    times = [[json.loads(line)["time_extracted"] for line in stored(r, "s")] for r in (raw, mapped)]
    assert times[0] == times[1]


def test_a_property_may_have_a_schema_that_allows_all(path: dict[str, Any], root: str) -> None:
    land([schema("s", keys=[], x=True), record("s", 1, x=[])], root, **path)
    assert records(root, "s") == [{"id": 1, "x": []}]
