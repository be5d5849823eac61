"""Bookmarks and vacuum: whatever was merged meanwhile, each record comes out once."""

from __future__ import annotations

import io
import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from singerlake import open_lake
from singerlake.format.keys import StreamKeys
from singerlake.lake.vacuum import VacuumOptions, vacuum
from tap_singerlake.tap import TapSingerlake

pytestmark = pytest.mark.usefixtures("door")

TAP = "tap-x--test"
KEYS = StreamKeys(TAP, "orders")


def land(root: Path, numbers: range) -> None:
    """One commit, which ends with an ACTIVATE_VERSION."""
    schema = {"type": "object", "properties": {"id": {"type": "integer"}, "x": {"type": "string"}}}
    message = {"type": "SCHEMA", "stream": "orders", "schema": schema, "key_properties": ["id"]}
    with open_lake(root, create=True).writer(TAP) as writer:
        writer.write(json.dumps(message).encode())
        for number in numbers:
            record = {"type": "RECORD", "stream": "orders", "record": {"id": number, "x": "y"}}
            writer.write(json.dumps(record).encode())
        writer.write(b'{"type":"ACTIVATE_VERSION","stream":"orders","version":1}')


def replay(root: Path, state: dict[str, Any], **config: Any) -> tuple[list[int], dict[str, Any]]:
    """The ids that come out, and the last state."""
    with redirect_stdout(io.TextIOWrapper(io.BytesIO(), encoding="utf-8")) as out:
        TapSingerlake(config={"lake_root": str(root), **config}, state=state).sync_all()
        out.flush()
        written = out.buffer.getvalue()
    messages = [json.loads(line) for line in written.splitlines()]
    ids = [message["record"]["id"] for message in messages if message["type"] == "RECORD"]
    states = [message["value"] for message in messages if message["type"] == "STATE"]
    return ids, states[-1]


def counted(caplog: pytest.LogCaptureFixture) -> list[int]:
    """What the SDK's metrics tell of records, of each stream that was read."""
    points = [
        json.loads(entry.getMessage().partition("METRIC: ")[2])
        for entry in caplog.records
        if entry.name == "singer_sdk.metrics"
    ]
    caplog.clear()
    return [point["value"] for point in points if point["metric"] == "record_count"]


@pytest.mark.parametrize("built", [{}, {"flattening_enabled": True, "flattening_max_depth": 1}])
def test_the_metrics_count_what_comes_out_of_a_merged_file(
    tmp_path: Path, built: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "singer_sdk.metrics")
    land(tmp_path, range(3))
    state = replay(tmp_path, {}, **built)[1]
    assert counted(caplog) == [3]
    for number in range(3, 10):
        land(tmp_path, range(number, number + 1))
    vacuum(open_lake(tmp_path).store, KEYS, VacuumOptions())
    (merged,) = open_lake(tmp_path).stream(TAP, "orders").snapshot().files()
    assert merged.records == 10
    assert replay(tmp_path, state, **built)[0] == list(range(3, 10))
    assert counted(caplog) == [7]
    replay(tmp_path, {}, **built)
    assert counted(caplog) == [10]


@pytest.mark.parametrize("config", [{}, {"flattening_enabled": True, "flattening_max_depth": 1}])
def test_runs_before_and_after_a_vacuum_emit_each_record_once(
    tmp_path: Path, config: dict[str, Any]
) -> None:
    for start in range(0, 12, 3):
        land(tmp_path, range(start, start + 3))
    first, state = replay(tmp_path, {}, **config)
    for start in range(12, 24, 3):
        land(tmp_path, range(start, start + 3))
    store = open_lake(tmp_path).store
    vacuum(store, KEYS, VacuumOptions())
    second, state = replay(tmp_path, state, **config)
    assert (first, second) == (list(range(12)), list(range(12, 24)))
    assert replay(tmp_path, state, **config)[0] == []
    assert replay(tmp_path, {}, **config)[0] == list(range(24))
