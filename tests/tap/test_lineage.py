"""Events of the tap: one run for a replay, and a note in the lake of who replayed what."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import PermissionDenied, StaleBookmark
from singerlake.lake import consumers
from singerlake.lineage.emitter import emitter
from singerlake.store import LocalStore, open_store
from tests.lineage.oracle import require_valid
from tests.lineage.receiver import receiving, steps
from tests.tap.replay import (
    STREAM,
    TAP_ID,
    command,
    config,
    deselect,
    discover,
    land,
    land_numbers,
    record,
    replay,
    schema,
)
from tests.zygote import PATIENCE

PATIENT = """
import singerlake.lineage.emitter.emitter as emitter
emitter.AT_THE_END = 8
from tap_singerlake.tap import main
main()
"""
JOB = f"{TAP_ID}.replay"


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Machines that run tests are busy: two seconds may be short there."""
    monkeypatch.setattr(emitter, "AT_THE_END", PATIENCE)


def replayed(root: Path, catalog: Any = None, **settings: Any) -> list[dict[str, Any]]:
    with receiving() as receiver:
        replay(config(root, lineage=receiver.url, **settings), catalog=catalog)
        for event in receiver.events:
            require_valid(event)
        return receiver.events


def test_a_replay_is_one_run_from_the_streams_to_their_messages(root: Path) -> None:
    land_numbers(root, 3, stream="customers")
    events = replayed(root)
    assert steps(events) == [(JOB, "START"), (JOB, "COMPLETE")]
    assert len({event["run"]["runId"] for event in events}) == 1
    for event in events:
        assert {one["name"].rpartition("/")[2] for one in event["inputs"]} == {STREAM, "customers"}
        entries = event["job"]["facets"]["lineage"]["entries"]
        pairs = {(one["inputs"][0]["name"].rpartition("/")[2], one["name"]) for one in entries}
        assert pairs == {(STREAM, STREAM), ("customers", "customers")}
    (orders,) = (one for one in events[-1]["inputs"] if one["name"].endswith(STREAM))
    assert orders["facets"]["version"]["datasetVersion"] == "2"
    assert orders["inputFacets"]["inputStatistics"]["rowCount"] == 2
    assert orders["inputFacets"]["inputStatistics"]["fileCount"] == 2


def test_selection_and_maps_say_which_column_was_made_of_which(root: Path) -> None:
    catalog = deselect(discover(config(root)), "name")
    (target,) = replayed(root, catalog)[-1]["outputs"]
    assert list(target["facets"]["columnLineage"]["fields"]) == ["id"]
    maps = {STREAM: {"hashed": "md5(name)", "id": "id", "__else__": None, "__alias__": "o"}}
    (target,) = replayed(root, stream_maps=maps)[-1]["outputs"]
    assert target["name"] == "o"
    fields = target["facets"]["columnLineage"]["fields"]
    assert {to: item["inputFields"][0]["field"] for to, item in fields.items()} == {
        "hashed": "name",
        "id": "id",
    }
    assert fields["hashed"]["inputFields"][0]["transformations"][0]["masking"] is True


def test_the_lake_notes_who_replayed_what(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CTX_DAG_ID", "shop")
    monkeypatch.setenv("AIRFLOW_CTX_TASK_ID", "to_postgres")
    assert consumers.of_stream(open_store(root), TAP_ID, STREAM) == ()
    for _ in range(2):
        replay(config(root, lineage="lake"))
    (noted,) = consumers.of_stream(open_store(root), TAP_ID, STREAM)
    assert (noted.kind, noted.name, noted.sequence) == ("replay", "airflow/shop.to_postgres", 2)


def test_a_replay_that_may_not_write_does_not_fail(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: LocalStore, *arguments: Any) -> str:
        raise PermissionDenied("no")

    monkeypatch.setattr(LocalStore, "replace", refuse)
    assert replay(config(root, lineage="lake")).numbers() == [1, 2]
    assert consumers.of_stream(open_store(root), TAP_ID, STREAM) == ()


def test_a_replay_without_lineage_writes_nothing(root: Path) -> None:
    before = (root / "raw/singerlake.json").read_bytes()
    replay(config(root))
    assert (root / "raw/singerlake.json").read_bytes() == before


def test_a_failure_is_reported_with_its_error(root: Path) -> None:
    state = {"bookmarks": {STREAM: {"log_id": "another", "sequence": 1}}}
    with receiving() as receiver:
        with pytest.raises(StaleBookmark):
            replay(config(root, lineage=receiver.url), state=state)
        events = receiver.events
    assert steps(events) == [(JOB, "START"), (JOB, "FAIL")]
    assert "StaleBookmark: " in events[-1]["run"]["facets"]["errorMessage"]["message"]


def test_a_signal_is_an_abort(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    wide = [schema(), *(record(n % 3000, name="x" * 500) for n in range(5000))]
    land(root, [schema(), record(1)], wide)
    with receiving() as receiver:
        _, *arguments = command(tmp_path, config(root, lineage=receiver.url))
        tap = subprocess.Popen(
            [sys.executable, "-c", PATIENT, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        assert tap.stdout is not None
        tap.stdout.read(1000)
        receiver.wait_for(1)
        tap.send_signal(signal.SIGTERM)
        tap.stdout.read()
        assert tap.wait() == 128 + signal.SIGTERM
        receiver.wait_for(2)
        assert steps(receiver.events)[-1] == (JOB, "ABORT")
        tap.stdout.close()
