"""What a run's document says: how the run ended, and what it left in each stream."""

from __future__ import annotations

import io
import json
import signal
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import Unavailable
from singerlake.format import run as runs
from singerlake.format.run import RunDocument
from singerlake.lake import Run, Writer, open_lake
from target_singerlake import verdict
from target_singerlake.landing import Landing
from target_singerlake.tap_exit import TapExit
from target_singerlake.target import TargetSingerlake
from tests.target.driving import PATHS, TAP_ID, land, listen, record, schema, state, text

pytestmark = pytest.mark.usefixtures("door")

paths = pytest.mark.parametrize("path", PATHS.values(), ids=PATHS)
ORDERS = [schema("orders"), record("orders", 1), record("orders", 2)]
DONE = state({"bookmarks": {"orders": {"replication_key_value": 2}}})
SYNCING = state({"bookmarks": {}, "currently_syncing": "orders"})


def run_of(root: Path) -> Run:
    (run,) = open_lake(root).tap(TAP_ID).runs(open=True)
    return run


def document_of(root: Path) -> RunDocument:
    store = open_lake(root).store
    return runs.decode(store.read(f"raw/{TAP_ID}/_runs/{run_of(root).document}").data, "here")


@paths
@pytest.mark.parametrize(
    ("lines", "outcome"),
    [
        ([*ORDERS, DONE], "complete"),
        ([*ORDERS, SYNCING, DONE], "complete"),
        ([*ORDERS, state({})], "complete"),
        ([*ORDERS, state({"currently_syncing": None})], "complete"),
        ([DONE], "complete"),
        ([*ORDERS, SYNCING], "ended"),
        ([*ORDERS], "ended"),
        ([], "ended"),
        ([*ORDERS, DONE, record("orders", 3)], "ended"),
        ([*ORDERS, DONE, schema("hits")], "ended"),
        ([*ORDERS, DONE, '{"type":"ACTIVATE_VERSION","stream":"orders","version":1}'], "ended"),
        ([*ORDERS, DONE, record("orders", 3), DONE], "complete"),
        ([*ORDERS, DONE, '{"type":"UNKNOWN"}'], "complete"),
    ],
)
def test_the_outcome_by_what_the_input_shows(
    tmp_path: Path, path: dict[str, Any], lines: list[str], outcome: str
) -> None:
    land(lines, tmp_path, **path)
    assert run_of(tmp_path).outcome == outcome


def test_a_record_that_a_map_removes_came_all_the_same(tmp_path: Path) -> None:
    removed = {"stream_maps": {"hits": "__NULL__"}}
    land([*ORDERS, schema("hits"), DONE, record("hits", 1)], tmp_path, **removed)
    assert run_of(tmp_path).outcome == "ended"


def test_a_tap_that_never_sends_state_can_be_complete(tmp_path: Path) -> None:
    land(ORDERS, tmp_path, complete_without_state=True)
    assert run_of(tmp_path).outcome == "complete"
    land([*ORDERS, DONE, record("orders", 3)], tmp_path, complete_without_state=True)
    assert open_lake(tmp_path).tap(TAP_ID).runs()[-1].outcome == "ended"


@paths
def test_what_it_left_in_each_stream(
    tmp_path: Path, path: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CTX_DAG_RUN_ID", "scheduled__2026")
    monkeypatch.setenv("MELTANO_RUN_ID", "from-meltano")
    monkeypatch.setenv("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "very secret")
    bookmarks = {"orders": {"replication_key_value": 3}, "empty": {}, "db-full": {"version": 7}}
    land(
        [
            *ORDERS,
            schema("orders", more={"type": "string"}),
            record("orders", 3),
            schema("empty"),
            schema("full"),
            record("full", 1),
            schema("unnamed"),
            state({"bookmarks": bookmarks}),
        ],
        tmp_path,
        **path,
    )
    found = document_of(tmp_path)
    lake = open_lake(tmp_path)
    manifest = lake.stream(TAP_ID, "orders").snapshot().manifest
    orders = found.streams["orders"]
    assert (orders.first_sequence, orders.last_sequence, orders.files) == (1, 2, 2)
    assert orders.log_id == manifest.log_id
    assert orders.records == 3
    assert orders.bytes == sum(file.bytes for file in manifest.files)
    assert list(orders.schema_hashes) == list(manifest.versions)
    assert found.streams["empty"].last_sequence == 0
    held = {name: one.bookmark for name, one in found.streams.items()}
    assert held == {"orders": True, "empty": False, "full": False, "unnamed": None}
    assert found.run_id == "from-meltano"
    assert {file.writer_id for file in manifest.files} == {found.writer_id}
    assert found.environment["AIRFLOW_CTX_DAG_RUN_ID"] == "scheduled__2026"
    assert found.traceparent.startswith("00-4bf9")
    assert found.versions.keys() >= {"python", "singerlake"}
    assert "very secret" not in json.dumps(json.loads(runs.encode(found)))


@paths
def test_bad_input_fails_the_run_after_what_came_is_committed(
    tmp_path: Path, path: dict[str, Any]
) -> None:
    with pytest.raises(Exception, match="line 5"):
        land([*ORDERS, DONE, "{very private"], tmp_path, **path)
    run = run_of(tmp_path)
    assert (run.outcome, run.records) == ("failed", 2)
    assert "private" not in document_of(tmp_path).reason


def test_a_commit_that_fails_fails_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise Unavailable("the store is away")

    monkeypatch.setattr("singerlake.lake.upload.land", fail)
    with pytest.raises(Unavailable):
        land([*ORDERS, DONE], tmp_path)
    run = run_of(tmp_path)
    assert (run.outcome, run.records) == ("failed", 0)
    assert document_of(tmp_path).reason == "Unavailable: the store is away"


def test_a_document_that_cannot_be_written_hides_no_failure_and_no_success(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise Unavailable("the store is away")

    monkeypatch.setattr(Writer, "end", fail)
    with pytest.raises(Exception, match="line 1"):
        land(["{"], tmp_path)
    assert "The run has no document" in caplog.text
    with pytest.raises(Unavailable):
        land([*ORDERS, DONE], tmp_path)
    (run,) = open_lake(tmp_path).tap(TAP_ID).runs(open=True)
    assert (run.outcome, run.records) == ("open", 2)


@paths
def test_a_signal_stops_the_run(
    tmp_path: Path, path: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    take = Landing.state

    def stopped(landing: Landing, value: bytes) -> None:
        take(landing, value)
        signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(Landing, "state", stopped)
    target = TargetSingerlake(config={"lake_root": str(tmp_path), "tap_id": TAP_ID, **path})
    with pytest.raises(SystemExit):
        listen(target, io.BytesIO(text([*ORDERS, DONE])))
    assert run_of(tmp_path).outcome == "stopped"
    assert document_of(tmp_path).reason == "signal 15"


def test_every_run_has_an_id_that_sorts_by_time(tmp_path: Path) -> None:
    for _ in range(3):
        land([DONE], tmp_path)
    ids = [run.run_id for run in open_lake(tmp_path).tap(TAP_ID).runs()]
    assert len(set(ids)) == 3
    assert all(one[14] == "7" for one in ids)
    assert [one[:13] for one in ids] == sorted(one[:13] for one in ids)


@pytest.mark.parametrize(
    ("tap", "outcome"),
    [
        (TapExit(0, expected=True), "complete"),
        (TapExit(1, expected=True), "failed"),
        (TapExit(-9, expected=True), "failed"),
        (TapExit(None, expected=True), "ended"),
        (TapExit(), "complete"),
    ],
)
def test_an_exit_code_counts_more_than_a_state(tap: TapExit, outcome: str) -> None:
    assert verdict.of_end(b'{"bookmarks": {}}', True, tap, False).outcome == outcome
    without = verdict.of_end(None, False, tap, False).outcome
    assert without == ("ended" if tap.code is None else outcome)


def test_full_tables_hold_no_bookmark_whatever_the_tap_calls_them() -> None:
    held = {
        "shop-public-orders": {"last_replication_method": "FULL_TABLE", "version": 1, "xmin": 5},
        "shop-public-hits": {"last_replication_method": "LOG_BASED", "lsn": 5},
        "sdk": {"starting_replication_value": None},
        "plain": "2026-01-01",
        "whole-child": {"partitions": [{"context": {"parent": 1}}, {"context": {"parent": 2}}]},
        "child": {"partitions": [{"context": {"parent": 1}, "replication_key_value": 5}]},
    }
    value = json.dumps({"bookmarks": held}).encode()
    streams = ["public-orders", "public-hits", "sdk", "plain", "other", "whole-child", "child"]
    assert verdict.bookmarks(value, streams) == {
        "public-orders": False,
        "public-hits": True,
        "sdk": False,
        "plain": True,
        "whole-child": False,
        "child": True,
    }
    assert verdict.bookmarks(b"[]", ["a"]) == verdict.bookmarks(None, ["a"]) == {}
    # The bookmark of another stream of the run is not that of a stream with a shorter name.
    assert verdict.bookmarks(value, ["hits", "public-hits"]) == {"public-hits": True}


@pytest.mark.parametrize("rest", [b"9" * 5000, b"[" * 99_999 + b"]" * 99_999])
def test_a_state_that_python_cannot_read_shows_nothing_complete(rest: bytes) -> None:
    value = b'{"currently_syncing": "orders", "more": %s}' % rest
    assert verdict.of_end(value, True, TapExit(), False).outcome == "ended"
