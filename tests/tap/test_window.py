"""The window: records by the time they were extracted, and by their schema version."""

from __future__ import annotations

import json
import logging
import re
from typing import Any

import pytest

from singerlake.errors import ConfigError
from singerlake.lake import Snapshot
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import open_store
from tests.tap.replay import (
    STREAM,
    TAP_ID,
    config,
    files,
    lake,
    land,
    new_root,
    properties,
    record,
    replay,
    schema,
    stream_keys,
    time_of,
)

pytestmark = pytest.mark.usefixtures("door")

OLD, NEW = schema(), schema(properties("name", "colour"))


@pytest.fixture
def root() -> str:
    """Three files, of the records 0 to 9, 10 to 19 and 20 to 29, a second apart."""
    address = new_root()
    land(address, *([OLD, *map(record, range(first, first + 10))] for first in (0, 10, 20)))
    return address


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"start_time": time_of(7)}, range(7, 30)),
        ({"end_time": time_of(7)}, range(7)),
        ({"start_time": time_of(5), "end_time": time_of(25)}, range(5, 25)),
        ({"start_time": time_of(10), "end_time": time_of(20)}, range(10, 20)),
        ({"start_time": "2026-03-01T10:00:07.500001Z"}, range(8, 30)),
        ({"start_time": "2026-03-01T10:00:07.499999Z"}, range(7, 30)),
        ({"start_time": "2026-03-01T12:00:07.5+02:00"}, range(7, 30)),
        ({"start_time": "2026-03-01T10:00:07.5"}, range(7, 30)),
        ({"end_time": "2026-03-01"}, range(0)),
        ({"start_time": "2027-01-01T00:00:00Z"}, range(0)),
    ],
)
def test_times_hold_for_each_record(root: str, settings: dict[str, Any], expected: range) -> None:
    printed = replay(config(root, **settings))
    assert printed.numbers() == list(expected)
    assert len(printed.of("SCHEMA")) == 1


def test_a_file_within_the_window_passes_as_it_is(root: str) -> None:
    printed = replay(config(root, start_time=time_of(5)))
    assert printed.data[1 + 5 :] == [record(number) for number in range(10, 30)]


def test_records_of_a_file_that_is_cut_pass_as_they_are() -> None:
    root = new_root()
    odd = (
        b'{"type": "RECORD", "stream":"orders", "record":{"id":1,"x":NaN,"y":-Infinity},'
        b'"time_extracted":"2026-03-01T12:00:09+02:00", "of-its-own":1.0 }'
    )
    land(root, [OLD, record(1), odd, record(30)])
    assert replay(config(root, start_time=time_of(3))).data == [OLD, odd, record(30)]


def test_files_out_of_order_in_time() -> None:
    root = new_root()
    land(root, [OLD, record(50)], [OLD, record(1), record(90)], [OLD, record(2)])
    printed = replay(config(root, start_time=time_of(2), end_time=time_of(60)))
    assert printed.numbers() == [50, 2]


@pytest.fixture
def versions() -> str:
    """A, B and A again."""
    address = new_root()
    coloured = record(2, name="b", colour="red"), record(3, name="c", colour=None)
    land(address, [OLD, record(1)], [NEW, *coloured], [OLD, record(4)])
    return address


def snapshot(root: str) -> Snapshot:
    return lake(root).stream(TAP_ID, STREAM).snapshot()


def hashes(root: str) -> dict[int, str]:
    known = snapshot(root).manifest.versions
    return {row.version: schema_hash for schema_hash, row in known.items()}


def test_all_versions_with_a_schema_at_each_change(versions: str) -> None:
    printed = replay(config(versions, schema_versions="all"))
    assert [line for line in printed.data if b'"SCHEMA"' in line] == [OLD, NEW, OLD]
    assert printed.kinds == [
        *("SCHEMA", "RECORD", "STATE"),
        *("SCHEMA", "RECORD", "RECORD", "STATE"),
        *("SCHEMA", "RECORD", "STATE"),
    ]


def test_a_schema_comes_again_only_when_the_version_changes() -> None:
    root = new_root()
    land(root, [OLD, record(1)], [OLD, record(2)], [NEW, record(3, name="c", colour="x")])
    kinds = [kind for kind in replay(config(root)).kinds if kind != "STATE"]
    assert kinds == ["SCHEMA", "RECORD", "RECORD", "SCHEMA", "RECORD"]


@pytest.mark.parametrize("setting", ["latest", ["latest"]])
def test_the_latest_version_is_that_of_the_newest_file(versions: str, setting: Any) -> None:
    """Not the one with the highest number: here the tap was set back."""
    printed = replay(config(versions, schema_versions=setting))
    assert printed.numbers() == [1, 4]
    assert printed.data[0] == OLD
    land(versions, [NEW, record(5, name="e", colour="e")])
    assert replay(config(versions, schema_versions=setting)).numbers() == [2, 3, 5]


@pytest.mark.parametrize("as_list", [True, False])
def test_versions_by_hash(versions: str, as_list: bool) -> None:
    wanted: Any = [hashes(versions)[1]] if as_list else hashes(versions)[1]
    printed = replay(config(versions, schema_versions=wanted))
    assert printed.numbers() == [1, 4]
    assert len(printed.of("SCHEMA")) == 1


def test_a_hash_that_the_stream_does_not_have_is_a_warning(
    versions: str, caplog: pytest.LogCaptureFixture
) -> None:
    land(versions, [schema({"id": {"type": "integer"}}, "users"), record(1, "users", id=1)])
    with caplog.at_level(logging.WARNING):
        printed = replay(config(versions, schema_versions=[hashes(versions)[2]]))
    assert printed.numbers() == [2, 3]
    assert "Stream 'users' has none of the schema versions asked for" in caplog.text


@pytest.mark.parametrize("setting", ["abcdefg", ["abcdefg"], "mergd", "V2"])
def test_a_version_that_no_stream_has_is_an_error_that_lists_them(
    versions: str, setting: Any
) -> None:
    known = hashes(versions)
    told = rf"'orders' has v1 \({known[1]}\), v2 \({known[2]}\)"
    with pytest.raises(ConfigError, match=told):
        replay(config(versions, schema_versions=setting))
    with pytest.raises(ConfigError, match="names abcdefg, which no selected stream has"):
        replay(config(versions, schema_versions=[known[1], "abcdefg"]))


def test_a_word_that_is_nearly_right(versions: str) -> None:
    with pytest.raises(ConfigError, match="Did you mean 'merged'"):
        replay(config(versions, schema_versions="mergd"))


def test_the_bookmark_counts_what_the_window_let_pass(versions: str) -> None:
    only = hashes(versions)[2]
    first = replay(config(versions, schema_versions=only))
    assert first.sequences() == [2]
    land(versions, [NEW, record(5, name="e", colour="e")])
    again = replay(config(versions, schema_versions=only), state=first.state)
    assert again.numbers() == [5]
    assert [file.sequence for file in files(versions)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("settings", "told", "level"),
    [
        ({"schema_versions": "latest"}, "1 .* for schema_versions;", "WARNING"),
        ({"start_time": time_of(3)}, "1 .* for start_time;", "INFO"),
        ({"start_time": time_of(2), "end_time": time_of(60)}, "", ""),
        ({"end_time": time_of(2)}, "", ""),
        ({"end_time": time_of(100)}, "", ""),
    ],
)
def test_what_the_bookmark_passes_over_is_told(
    settings: dict[str, Any], told: str, level: str, caplog: pytest.LogCaptureFixture
) -> None:
    """A later run would not give it, though it were asked for then."""
    root = new_root()
    land(root, [OLD, record(1)], [NEW, record(90, name="b", colour="x")], [OLD, record(3)])
    with caplog.at_level(logging.INFO):
        replay(config(root, **settings))
    found = [row for row in caplog.records if "left out" in row.getMessage()]
    assert [row.levelname for row in found] == ([level] if level else [])
    assert all(re.search(told, row.getMessage()) for row in found)


def test_a_file_that_the_end_cuts_comes_again(root: str, caplog: pytest.LogCaptureFixture) -> None:
    first = replay(config(root, end_time=time_of(5)))
    assert first.numbers() == list(range(5))
    assert "1 files hold records from before end_time" in caplog.text
    assert set(range(5)) <= set(replay(config(root), state=first.state).numbers())


@pytest.mark.parametrize("merged", [False, True])
def test_runs_with_ends_give_each_record_once(merged: bool) -> None:
    """From bookmark to bookmark, whatever a vacuum has made one file of."""
    root = new_root()
    order = [0, 1, 2, 7, 3, 4, 5, 6, 8, 9]
    land(root, *([OLD, record(number)] for number in order))
    if merged:
        vacuum(open_store(root), stream_keys(), VacuumOptions())
    state = replay(config(root, end_time=time_of(0))).state
    given = []
    for end in (2, 5, 8, 9, 10):
        printed = replay(config(root, end_time=time_of(end)), state=state)
        assert all(number < end for number in printed.numbers())
        given += printed.numbers()
        state = printed.state or state
    assert given == order
    assert replay(config(root), state=state).numbers() == []


def test_what_an_earlier_run_gave_is_not_told_as_left_out(
    root: str, caplog: pytest.LogCaptureFixture
) -> None:
    state = replay(config(root)).state
    land(root, [OLD, record(40)])
    replay(config(root, end_time=time_of(50)), state=state)
    assert "left out" not in caplog.text


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"start_time": "yesterday"}, "start_time is 'yesterday'"),
        ({"end_time": "2026-13-01T00:00:00Z"}, "end_time is '2026-13-01"),
        ({"start_time": time_of(2), "end_time": time_of(2)}, "is not before end_time"),
        ({"start_time": time_of(3), "end_time": time_of(2)}, "is not before end_time"),
        ({"schema_versions": ["latest", "abcdefg"]}, "stand alone"),
    ],
)
def test_a_window_that_cannot_be(root: str, settings: dict[str, Any], expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        replay(config(root, **settings))


def test_records_without_a_time_are_given_one_when_they_land() -> None:
    root = new_root()
    untimed = {"type": "RECORD", "stream": STREAM, "record": {"id": 1}}
    land(root, [OLD, json.dumps(untimed).encode()])
    assert replay(config(root, start_time="2020-01-01T00:00:00Z")).numbers() == [1]
    assert replay(config(root, end_time="2020-01-01T00:00:00Z")).numbers() == []
