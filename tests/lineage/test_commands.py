"""Events of the commands, and `lineage show`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest

from singerlake.format.keys import StreamKeys
from singerlake.lake import consumers, open_lake
from singerlake.lineage.emitter import emitter
from singerlake.lineage.trace.command import open_trace
from singerlake.projection.document import Settings
from singerlake.store import open_store
from tests.cli.lake import run, said, told
from tests.lineage.oracle import require_valid
from tests.lineage.receiver import receiving, steps
from tests.tap.replay import STREAM, TAP_ID, config, land_numbers, replay
from tests.zygote import PATIENCE

SETTINGS = Settings(format="parquet", mode="current")


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitter, "AT_THE_END", PATIENCE)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    land_numbers(tmp_path / "lake", 1, 2, 3)
    return tmp_path / "lake"


def reported(*arguments: str | Path, code: int = 0) -> list[dict[str, Any]]:
    with receiving() as receiver:
        result = run(*arguments, SINGERLAKE_LINEAGE=receiver.url)
        assert result.exit_code == code, result.output
        for event in receiver.events:
            require_valid(event)
        return receiver.events


def test_a_vacuum_is_a_run_of_each_stream_that_it_merged(root: Path) -> None:
    land_numbers(root, 1, stream="single")
    job = f"{TAP_ID}.vacuum.{STREAM}"
    assert reported("vacuum", root) == []
    events = reported("vacuum", root, "--apply", "--here")
    assert steps(events) == [(job, "START"), (job, "COMPLETE")]
    (read,), (made,) = events[-1]["inputs"], events[-1]["outputs"]
    assert read["name"] == made["name"]
    assert read["inputFacets"]["inputStatistics"]["fileCount"] == 3
    assert made["outputFacets"]["outputStatistics"]["fileCount"] == 1
    assert reported("vacuum", root, "--apply", "--here") == []


def test_a_vacuum_that_fails(root: Path) -> None:
    for path in root.rglob("*.singer.gz"):
        path.write_bytes(b"damaged")
    events = reported("vacuum", root, "--apply", "--here", code=3)
    assert [kind for _, kind in steps(events)] == ["START", "FAIL"]
    assert events[-1]["run"]["facets"]["errorMessage"]["message"].startswith("Corrupt")


@pytest.mark.parametrize("work", ["vacuum", "project"])
def test_ctrl_c_aborts_a_run(work: str, root: Path, tmp_path: Path) -> None:
    sent = tmp_path / "events.jsonl"
    config = tmp_path / "openlineage.yml"
    config.write_text(f"transport: {{type: file, log_file_path: {sent}}}")
    trace = open_trace(open_lake(root), str(config))
    assert trace is not None
    around: dict[str, Callable[[], AbstractContextManager[object]]] = {
        "vacuum": lambda: trace.vacuum(TAP_ID, STREAM),
        "project": lambda: trace.project(open_store(tmp_path), TAP_ID, STREAM, SETTINGS),
    }
    with pytest.raises(KeyboardInterrupt), around[work]():
        raise KeyboardInterrupt
    trace.close()
    events = [json.loads(line) for line in sent.read_text().splitlines()]
    assert [one["eventType"] for one in events] == ["START", "ABORT"]
    assert "errorMessage" not in events[-1]["run"]["facets"]


PROJECTS = """
import sys, time
from singerlake.cli.trace import tracing
from singerlake.lake import open_lake
from singerlake.projection.document import Settings
from singerlake.store import open_store
root, out, tap, stream = sys.argv[1:]
settings = Settings(format="parquet", mode="current")
with tracing(open_lake(root)) as trace:
    with trace.around("project", open_store(out), tap, stream, settings):
        print("begun", flush=True)
        time.sleep(600)
"""


def test_sigterm_aborts_a_run(root: Path, tmp_path: Path) -> None:
    """As schedulers end what takes too long."""
    with receiving() as receiver:
        process = subprocess.Popen(
            [sys.executable, "-c", PROJECTS, str(root), str(tmp_path), TAP_ID, STREAM],
            stdout=subprocess.PIPE,
            env={**os.environ, "SINGERLAKE_LINEAGE": receiver.url},
        )
        with process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            process.terminate()
            assert process.wait(PATIENCE) == 143
        job = f"{TAP_ID}.project.{STREAM}"
        assert steps(receiver.events) == [(job, "START"), (job, "ABORT")]


def test_a_check_says_what_it_found_in_each_stream(root: Path) -> None:
    land_numbers(root, 1, stream="sound")
    file = next((root / StreamKeys(TAP_ID, STREAM).folder).rglob("*.singer.gz"))
    file.unlink()
    events = reported("check", root, code=1)
    assert steps(events) == [("check", "START"), ("check", "COMPLETE")]
    verdicts = {
        one["name"].rpartition("/")[2]: one["inputFacets"]["dataQualityAssertions"]["assertions"]
        for one in events[-1]["inputs"]
    }
    assert [one["success"] for one in verdicts["sound"]] == [True]
    whole, *each = verdicts[STREAM]
    assert not whole["success"]
    assert each[0]["assertion"] == "singerlake_check:file-missing"
    assert each[0]["severity"] == "error"


def test_a_receiver_that_is_gone_fails_no_command(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emitter, "AT_THE_END", 0.1)
    with receiving(503) as receiver:
        result = run("check", root, SINGERLAKE_LINEAGE=receiver.url)
    assert result.exit_code == 0, result.output


# What the lake knows


def test_show_names_the_tap_and_the_job_that_runs_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CTX_DAG_ID", "shop")
    monkeypatch.setenv("AIRFLOW_CTX_TASK_ID", "land")
    with open_lake(root).writer(TAP_ID) as writer:
        writer.write(json.dumps({"type": "SCHEMA", "stream": STREAM, "schema": {}}).encode())
        writer.commit()
    writer.end("complete")
    answer = told("lineage", "show", root, TAP_ID, STREAM)
    assert [(one["kind"], one["name"]) for one in answer["sources"]] == [
        ("tap", TAP_ID),
        ("job", "airflow/shop.land"),
    ]
    assert answer["consumers"] == []
    assert "No job has noted" in said("lineage", "show", root, TAP_ID, STREAM)
    assert run("lineage", "show", root, TAP_ID, "nothing").exit_code == 2


def test_show_names_replays_and_how_far_they_are(root: Path) -> None:
    replay(config(root, lineage="lake"))
    land_numbers(root, 4)
    (found,) = told("lineage", "show", root, TAP_ID, STREAM)["consumers"]
    assert (found["kind"], found["sequence"]) == ("replay", 3)
    assert "3 of 4" in said("lineage", "show", root, TAP_ID, STREAM, COLUMNS="200")


def test_notes_that_somebody_broke_are_passed_over(root: Path) -> None:
    path = root / "raw/singerlake.json"
    broken: list[Any] = [5, [], {TAP_ID: 5}, {TAP_ID: {STREAM: [5, {"kind": "replay"}]}}]
    for wrong in broken:
        path.write_text(json.dumps(json.loads(path.read_bytes()) | {"lineage": wrong}))
        assert consumers.of_stream(open_store(root), TAP_ID, STREAM) == ()
        assert told("lineage", "show", root, TAP_ID, STREAM)["consumers"] == []
    replay(config(root, lineage="lake"))
    assert len(consumers.of_stream(open_store(root), TAP_ID, STREAM)) == 1


def test_the_pages_draw_it(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hostile = "<script>window.hacked=1</script>"
    monkeypatch.setenv("AIRFLOW_CTX_DAG_ID", hostile)
    replay(config(root, lineage="lake"))
    said("site", "build", root, "--out", tmp_path / "site")
    page = (tmp_path / "site" / "stream" / TAP_ID / f"{STREAM}.html").read_text()
    assert '<svg class="lineage"' in page
    assert '3 <span class="faint">of 3</span>' in page
    assert hostile not in page
    assert "&lt;script&gt;" in page
