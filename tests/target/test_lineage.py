"""Events of the target: of each process and of each commit, valid, and never in its way."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from singerlake.lake import open_lake
from singerlake.lineage.emitter import emitter
from tests.lineage.oracle import require_valid
from tests.lineage.receiver import Receiver, receiving, run_events, steps
from tests.target.driving import (
    PATHS,
    TAP_ID,
    forked,
    numbers,
    patched,
    record,
    run,
    schema,
    state,
    timed,
)
from tests.zygote import PATIENCE

pytestmark = pytest.mark.usefixtures("door")

SECRET = "s3cr3t-key-of-the-receiver"
NAME = {"type": ["null", "string"], "description": "what it is called"}
LINES = [
    schema("orders", name=NAME),
    schema("customers"),
    *(timed("orders", number, name="a") for number in range(5)),
    timed("customers", 1),
    state({"at": 1}),
]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


PATIENT = "import singerlake.lineage.emitter.emitter as emitter; emitter.AT_THE_END = 60"
"""Machines that run tests are busy: two seconds may be short there."""


def landed(receiver: Receiver, root: Path, **more: Any) -> list[dict[str, Any]]:
    outcome = run(LINES, root, lineage=receiver.url, patch=PATIENT, **more)
    assert outcome.code == 0, outcome.log
    assert [json.loads(each) for each in outcome.states] == [{"at": 1}]
    for event in receiver.events:
        require_valid(event)
    return receiver.events


def test_a_landing_has_a_run_and_each_commit_has_one(tmp_path: Path, path: dict[str, Any]) -> None:
    with receiving() as receiver:
        events = landed(receiver, tmp_path, **path)
    land, streams = f"{TAP_ID}.land", ("orders", "customers")
    made = steps(events)
    assert made[0] == (land, "START")
    assert made[-1] == (land, "COMPLETE")
    commits = [(f"{land}.{stream}", kind) for stream in streams for kind in ("START", "COMPLETE")]
    assert sorted(made[1:-1]) == sorted(commits)
    (process,) = {event["run"]["runId"] for event in run_events(events, "JOB")}
    assert len({event["run"]["runId"] for event in run_events(events, "TASK")}) == 2
    for event in run_events(events, "TASK"):
        parent = event["run"]["facets"]["parent"]
        assert (parent["run"]["runId"], parent["job"]["name"]) == (process, land)
        assert parent["root"]["run"]["runId"] == process


def test_datasets_are_named_by_the_rules_and_carry_their_facets(tmp_path: Path) -> None:
    with receiving() as receiver:
        events = landed(receiver, tmp_path)
    commits = [one for one in run_events(events, "TASK") if one["job"]["name"].endswith("orders")]
    for event in commits:  # START too
        (source,), (target,) = event["inputs"], event["outputs"]
        assert (source["namespace"], source["name"]) == (f"singer://{TAP_ID}", "orders")
        assert target["namespace"] == "file"
        assert target["name"] == f"{tmp_path}/raw/{TAP_ID}/orders"
        facets = target["facets"]
        assert facets["version"]["datasetVersion"] == "1"
        assert facets["storage"]["storageLayer"] == "singerlake"
        assert facets["schema"]["fields"] == [
            {"name": "id", "type": "bigint"},
            {"name": "name", "type": "string", "description": "what it is called"},
        ]
        assert facets["lineage"]["inputs"][0]["name"] == "orders"
    statistics = commits[-1]["outputs"][0]["outputFacets"]["outputStatistics"]
    (file,) = open_lake(tmp_path).stream(TAP_ID, "orders").snapshot().files()
    assert (statistics["rowCount"], statistics["fileCount"]) == (5, 1)
    assert statistics["size"] == file.bytes
    assert commits[-1]["inputs"][0]["inputFacets"]["inputStatistics"]["rowCount"] == 5


def test_the_process_says_which_input_feeds_which_output(tmp_path: Path) -> None:
    with receiving() as receiver:
        events = landed(receiver, tmp_path)
    for event in run_events(events, "JOB"):
        entries = event["job"]["facets"]["lineage"]["entries"]
        found = {entry["name"].rpartition("/")[2]: entry["inputs"][0]["name"] for entry in entries}
        assert found == {"orders": "orders", "customers": "customers"}
        assert {one["name"] for one in event["inputs"]} == {"orders", "customers"}
        assert len(event["outputs"]) == 2


def test_parents_come_from_the_environment(tmp_path: Path) -> None:
    parent = "0192a8a0-0000-7000-8000-000000000001"
    env = {"OPENLINEAGE_NAMESPACE": "prod", "OPENLINEAGE_PARENT_ID": f"air/flow/dag.task/{parent}"}
    with receiving() as receiver:
        env["OPENLINEAGE_URL"], env["OPENLINEAGE_API_KEY"] = receiver.url, SECRET
        env["OPENLINEAGE_ENDPOINT"] = "/openapi/openlineage/"
        outcome = run(LINES, tmp_path, env=env, command=patched(PATIENT))
        events = receiver.events
        places = {(path, headers["Authorization"]) for path, headers, _ in receiver.requests}
    assert outcome.code == 0, outcome.log
    assert places == {("/openapi/openlineage", f"Bearer {SECRET}")}
    for event in run_events(events):
        require_valid(event)
        facet = event["run"]["facets"]["parent"]
        assert event["job"]["namespace"] == "prod"
        assert facet["root"]["run"]["runId"] == parent
    (process,) = {one["run"]["facets"]["parent"]["job"]["namespace"] for one in events[:1]}
    assert process == "air/flow"
    assert SECRET not in outcome.log
    assert SECRET not in json.dumps(events)


def test_a_failure_is_reported_with_its_error(tmp_path: Path, path: dict[str, Any]) -> None:
    with receiving() as receiver:
        outcome = run([*LINES, "no message"], tmp_path, lineage=receiver.url, patch=PATIENT, **path)
        events = receiver.events
    assert outcome.code == 1
    assert steps(events)[-1] == (f"{TAP_ID}.land", "FAIL")
    assert events[-1]["run"]["facets"]["errorMessage"]["message"] == "BadMessage"
    for event in events:
        require_valid(event)


def test_a_signal_is_an_abort(tmp_path: Path) -> None:
    with (
        receiving() as receiver,
        forked(tmp_path, PATIENT, lineage=receiver.url, commit_interval_seconds=0) as running,
    ):
        running.send(*LINES)
        running.next_state()
        receiver.wait_for(5)
        running.process.send_signal(signal.SIGTERM)
        outcome = running.wait()
        events = receiver.events
    assert outcome.code == 128 + signal.SIGTERM, outcome.log
    assert steps(events)[-1] == (f"{TAP_ID}.land", "ABORT")


def test_a_kill_leaves_the_events_of_what_was_committed(tmp_path: Path) -> None:
    with (
        receiving() as receiver,
        forked(tmp_path, PATIENT, lineage=receiver.url, commit_interval_seconds=0) as running,
    ):
        running.send(*LINES)
        running.next_state()
        receiver.wait_for(5)
        running.process.kill()
        running.wait()
        found = steps(receiver.events)
    assert found.count((f"{TAP_ID}.land.orders", "COMPLETE")) == 1
    assert (f"{TAP_ID}.land", "COMPLETE") not in found


@pytest.mark.parametrize("status", [None, 503, 400])
def test_a_receiver_that_fails_costs_no_record_and_two_seconds_at_most(
    tmp_path: Path, status: int | None
) -> None:
    assert emitter.AT_THE_END == 2.0
    began = time.monotonic()
    with receiving(status) as receiver:
        outcome = run(LINES, tmp_path, lineage=receiver.url)
    # Machines that run tests are busy; a receiver that never answers would keep it for ever.
    assert time.monotonic() - began < PATIENCE / 4
    assert outcome.code == 0, outcome.log
    assert outcome.states == [b'{"at": 1}']
    assert numbers(tmp_path, "orders") == list(range(5))
    assert "Lineage: 0 events were sent" in outcome.log
    assert "and 6 were not" in outcome.log


def test_a_receiver_that_is_not_there(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://user:{SECRET}@127.0.0.1:{free.getsockname()[1]}/{SECRET}"
        outcome = run(LINES, tmp_path, lineage=url)
    assert outcome.code == 0, outcome.log
    assert "and 6 were not" in outcome.log
    assert SECRET not in outcome.log


@pytest.mark.parametrize("setting", ["ftp://x", "http://", "/no/such/openlineage.yml"])
def test_settings_that_are_wrong_are_a_warning(tmp_path: Path, setting: str) -> None:
    outcome = run(LINES, tmp_path, lineage=setting)
    assert outcome.code == 0, outcome.log
    assert "Lineage is off: " in outcome.log
    assert numbers(tmp_path, "orders") == list(range(5))


def test_people_s_notes_are_events_of_the_datasets(tmp_path: Path) -> None:
    run(LINES, tmp_path)
    open_lake(tmp_path).annotate(
        TAP_ID, {"owner": "the shop team", "description": "the shop"}, {"tier": "1"}
    )
    with receiving() as receiver:
        events = landed(receiver, tmp_path)
    notes = [event["dataset"] for event in events if "dataset" in event]
    assert {one["name"].rpartition("/")[2] for one in notes} == {"orders", "customers"}
    for one in notes:
        assert one["facets"]["ownership"]["owners"] == [{"name": "the shop team"}]
        assert one["facets"]["documentation"]["description"] == "the shop"


def test_a_stream_map_says_which_column_was_made_of_which(tmp_path: Path) -> None:
    maps = {"orders": {"label": "name + str(id)", "name": None, "__filter__": "id > 2"}}
    with receiving() as receiver:
        events = landed(receiver, tmp_path, stream_maps=maps)
    (commit,) = (
        event
        for event in run_events(events, "TASK")
        if event["job"]["name"].endswith("orders") and event["eventType"] == "COMPLETE"
    )
    facet = commit["outputs"][0]["facets"]["columnLineage"]
    made = {
        to: [one["field"] for one in item["inputFields"]] for to, item in facet["fields"].items()
    }
    assert made == {"id": ["id"], "label": ["id", "name"]}
    (chosen,) = facet["dataset"]
    assert (chosen["field"], chosen["transformations"][0]["subtype"]) == ("id", "FILTER")


def test_nothing_of_lineage_is_loaded_where_nobody_asked_for_it(tmp_path: Path) -> None:
    """With a control: where somebody did, it is."""
    script = (
        "import io, sys, threading\n"
        "from target_singerlake.target import TargetSingerlake\n"
        "config = {'lake_root': sys.argv[1], 'tap_id': 'x', 'lineage': sys.argv[2] or None}\n"
        "TargetSingerlake(config=config).listen(io.BytesIO(sys.argv[3].encode()))\n"
        "print([name for name in sys.modules if name.startswith('singerlake.lineage')])\n"
    )
    for setting, is_loaded in (("", False), ("lake", True)):
        done = subprocess.run(
            [
                sys.executable,
                "-c",
                script,
                str(tmp_path),
                setting,
                f"{LINES[0]}\n{record('orders', 1)}\n",
            ],
            capture_output=True,
            text=True,
            check=True,
        )
        assert (done.stdout.strip().splitlines()[-1] != "[]") is is_loaded, done
