"""singer-sdk's own suite for targets, on both of our paths, and every fixture that it ships."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import pytest
from singer_sdk.exceptions import MissingKeyPropertiesError, RecordsWithoutSchemaException
from singer_sdk.testing import get_target_test_class, target_test_streams

from singerlake.errors import BadMessage
from target_singerlake.target import TargetSingerlake
from tests.target.driving import (
    PATHS,
    TAP_ID,
    as_sent,
    assert_clean,
    lake,
    land,
    listen,
    records,
    stored,
    text,
)

TestRawPath = get_target_test_class(
    TargetSingerlake, config={"lake_root": "memory://sdk-suite", "tap_id": TAP_ID}
)
TestMappedPath = get_target_test_class(
    TargetSingerlake,
    config={
        "lake_root": "memory://sdk-suite-mapped",
        "tap_id": TAP_ID,
        "add_record_metadata": True,
        "validate_records": True,
    },
)

FIXTURES = {
    file.name.removesuffix(".singer"): file.read_bytes()
    for file in files(target_test_streams).iterdir()
    if file.name.endswith(".singer")
}
REFUSED = {
    "invalid_schema": BadMessage,
    "record_before_schema": RecordsWithoutSchemaException,
    "record_missing_key_property": MissingKeyPropertiesError,
}
TAKEN = sorted(FIXTURES.keys() - REFUSED.keys())


def lines_of(fixture: str) -> list[bytes]:
    return [line for line in FIXTURES[fixture].split(b"\n") if line.strip()]


def by_stream(fixture: str) -> dict[str, list[bytes]]:
    """The RECORD lines of each stream; a stream of which only a SCHEMA came has none."""
    streams: dict[str, list[bytes]] = {}
    for line in lines_of(fixture):
        message = json.loads(line)
        if message["type"] in ("SCHEMA", "RECORD"):
            lines = streams.setdefault(message["stream"], [])
            if message["type"] == "RECORD":
                lines.append(line)
    return streams


def states_of(fixture: str) -> list[Any]:
    """The values of its STATE messages; empty ones are not for Meltano to see."""
    messages = map(json.loads, lines_of(fixture))
    values = [message["value"] for message in messages if message["type"] == "STATE"]
    return [value for value in values if value]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def test_the_sdk_still_ships_the_fixtures_that_its_suite_leaves_out() -> None:
    left_out = {"multiple_state_messages", "user_location_data", "user_location_upsert_data"}
    assert left_out | {"no_primary_keys_append"} <= set(TAKEN)
    assert set(FIXTURES) >= REFUSED.keys()


@pytest.mark.parametrize("fixture", TAKEN)
def test_the_lake_holds_the_records_of_a_fixture(
    fixture: str, path: dict[str, Any], root: str
) -> None:
    states = land(lines_of(fixture), root, **path)
    for stream, sent in by_stream(fixture).items():
        if sent:
            expected = [json.loads(line, parse_float=str)["record"] for line in sent]
            assert records(root, stream) == expected
        else:
            assert stream in lake(root).tap(TAP_ID).catalogue()
    assert [json.loads(each) for each in states][-1:] == states_of(fixture)[-1:]
    assert_clean(root)


@pytest.mark.parametrize("fixture", TAKEN)
def test_the_raw_path_keeps_a_fixture_byte_for_byte(fixture: str, root: str) -> None:
    land(lines_of(fixture), root)
    for stream, sent in by_stream(fixture).items():
        if sent:
            assert [as_sent(line) for line in stored(root, stream)] == sent


@pytest.mark.parametrize("fixture", REFUSED)
def test_the_fixtures_that_are_wrong_are_refused(
    fixture: str, path: dict[str, Any], root: str
) -> None:
    """With the errors of the SDK, which only its own class raises."""
    target = TargetSingerlake(config={"lake_root": root, "tap_id": TAP_ID, **path})
    with pytest.raises(REFUSED[fixture], match=r"^line \d+ of the input, stream .*: "):
        listen(target, io.BytesIO(text(lines_of(fixture))))


class OneLineAtATime(io.RawIOBase):
    """A tap that is slower than the target: each read gives one line."""

    def __init__(self, lines: list[bytes]) -> None:
        self._lines: Iterator[bytes] = iter(lines)

    def read(self, size: int = -1) -> bytes:
        return next(self._lines, b"")

    def fileno(self) -> int:
        raise io.UnsupportedOperation


def test_several_states_come_out_in_order_and_during_the_sync(
    path: dict[str, Any], root: str
) -> None:
    sent = states_of("multiple_state_messages")
    config = {"lake_root": root, "tap_id": TAP_ID, "commit_interval_seconds": 0, **path}
    lines = [line + b"\n" for line in lines_of("multiple_state_messages")]
    states = listen(TargetSingerlake(config=config), OneLineAtATime(lines))
    came = [json.loads(each) for each in states]
    assert [value for value in sent if value in came] == came
    assert came[-1] == sent[-1]
    assert len(came) > 1


def test_one_block_of_several_states_gives_the_last(path: dict[str, Any], root: str) -> None:
    states = land(lines_of("multiple_state_messages"), root, **path)
    assert [json.loads(each) for each in states] == states_of("multiple_state_messages")[-1:]
