"""Six runs of the real target: after vacuum, purge and rebuild the lake still knows each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.lake import said, told
from tests.tap.replay import replay
from tests.target import driving
from tests.target.driving import record, schema, state

RUNS = 6


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(RUNS):
        lines = [schema("orders"), *(record("orders", 10 * number + n) for n in range(3)), state(1)]
        assert driving.run(lines, tmp_path).code == 0
    return tmp_path


def rows(root: Path) -> list[dict[str, Any]]:
    """The log as scripts read it, but for the names of the files."""
    lines = said("log", root, "--json").splitlines()
    return [{**json.loads(line), "path": ""} for line in lines]


def by_run(root: Path, run_id: str) -> list[bytes]:
    """What the real tap replays of a run."""
    printed = replay({"lake_root": str(root), "tap_id": driving.TAP_ID, "runs": [run_id]})
    return printed.data


def replays(root: Path) -> list[list[bytes]]:
    return [by_run(root, row["run_id"]) for row in rows(root)]


def listed(root: Path) -> Any:
    return told("runs", root, driving.TAP_ID)


def arrivals(root: Path) -> Any:
    return told("show", root, driving.TAP_ID, "orders")["arrivals"]


def test_vacuum_purge_and_rebuild_change_nothing_of_the_log(root: Path) -> None:
    before, came, stored = rows(root), arrivals(root), driving.stored(root, "orders")
    replayed, runs = replays(root), listed(root)
    assert len({row["run_id"] for row in before}) == len(before) == RUNS
    said("vacuum", root, "--apply", "--here")
    said("vacuum", root, "--purge", "--grace", "0", "--apply")
    said("rebuild", root, "--apply")
    assert len(driving.lake(root).stream(driving.TAP_ID, "orders").snapshot().manifest.files) == 1
    assert rows(root) == before
    assert rows(root)[-2:] == [json.loads(line) | {"path": ""} for line in _newest(root, 2)]
    assert arrivals(root) == came
    assert replays(root) == replayed
    assert [len(lines) for lines in replayed] == [4] * RUNS, "a SCHEMA and three records"
    assert listed(root) == runs
    cat = ("cat", root, driving.TAP_ID, "orders", "--json")
    last = [json.loads(line)["record"]["id"] for line in said(*cat, "--run", "last").splitlines()]
    assert last == [50, 51, 52]
    then = said(*cat, "--as-of", before[1]["run_id"]).splitlines()
    assert [json.loads(line)["sequence"] for line in then] == [1, 1, 1, 2, 2, 2]
    second = said("log", root, "--run", before[1]["run_id"], "--json").splitlines()
    assert [json.loads(line)["sequence"] for line in second] == [2]
    assert driving.stored(root, "orders") == stored


def test_without_the_manifest_the_runs_come_from_the_documents(root: Path) -> None:
    before, replayed = rows(root), replays(root)
    said("vacuum", root, "--apply", "--here")
    said("vacuum", root, "--purge", "--grace", "0", "--apply")
    (root / "raw" / driving.TAP_ID / "orders" / "manifest.json").unlink()
    said("rebuild", root, "--apply")
    assert rows(root) == before
    assert replays(root) == replayed


def _newest(root: Path, count: int) -> list[str]:
    return said("log", root, "--json", "--limit", str(count)).splitlines()
