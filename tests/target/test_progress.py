"""What the target tells while it lands, and at its end: progress, a summary, the SDK's metrics."""

from __future__ import annotations

import json
import re
from collections import Counter
from typing import Any

import pytest

from target_singerlake import landing
from tests.target.driving import PATHS, files, land, record, schema, state

LINES = [
    schema("a"),
    schema("b"),
    *(record("a", number) for number in range(1200)),
    *(record("b", number) for number in range(34)),
    state({"at": 1}),
]


@pytest.fixture(params=PATHS)
def path(request: pytest.FixtureRequest) -> dict[str, Any]:
    return PATHS[request.param]


@pytest.fixture
def root(request: pytest.FixtureRequest) -> str:
    return f"memory://{request.node.name}"


def told(caplog: pytest.LogCaptureFixture, what: str) -> list[str]:
    return [line for line in caplog.messages if line.startswith(f"{what}: ")]


def test_the_summary_counts_records_streams_bytes_and_files(
    root: str, path: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    land(LINES, root, max_file_records=500, **path)
    (line,) = told(caplog, "Landed")
    found = [*files(root, "a"), *files(root, "b")]
    assert [file.records for file in found] == [500, 500, 200, 34]
    assert line.startswith("Landed: 1,234 records of 2 streams (0.1 MB) in ")
    committed = sum(file.bytes for file in found) / 1e6
    assert line.endswith(f" s; 4 files committed ({committed:.1f} MB)")


def test_progress_is_told_while_the_input_goes_on(
    root: str,
    path: dict[str, Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level("INFO")
    land(LINES, root, **path)
    assert told(caplog, "Landing") == []
    monkeypatch.setattr(landing, "PROGRESS_EVERY", 0.0)
    land(LINES, f"{root}-2", commit_interval_seconds=0, **path)
    progress = told(caplog, "Landing")
    assert progress
    assert re.match(
        r"Landing: 1,234 records of 2 streams \(0\.1 MB\) in \d+ s; \d files", progress[-1]
    )


def test_the_metrics_count_each_streams_records(
    root: str, path: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "singer_sdk.metrics")
    land(LINES, root, **path)
    counts: Counter[str] = Counter()
    for entry in caplog.records:
        if entry.name == "singer_sdk.metrics":
            point = json.loads(entry.getMessage().partition("METRIC: ")[2])
            if point["metric"] == "record_count":
                counts[point["tags"]["stream"]] += point["value"]
    assert counts == {"a": 1200, "b": 34}
