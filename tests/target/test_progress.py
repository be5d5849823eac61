"""What the target tells while it lands, and at its end: progress, a summary, the SDK's metrics."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from target_singerlake import landing
from tests.target.driving import PATHS, files, land, record, run, schema, state

pytestmark = pytest.mark.usefixtures("door")

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


def test_the_metrics_in_a_structured_log_name_their_stream(
    tmp_path: Path, path: dict[str, Any]
) -> None:
    """As Meltano has plugins log: it shows the text of a line, and the value of `metric_info`."""
    logs = tmp_path / "logging.yml"
    logs.write_text(STRUCTURED)
    env = {"SINGER_SDK_LOG_CONFIG": str(logs)}
    outcome = run(LINES, tmp_path / "lake", env=env, **path)
    lines = [json.loads(line) for line in outcome.log.splitlines() if line.startswith("{")]
    found = {}
    for line in lines:
        info = line["extra"].get("metric_info")
        if info is not None and info["metric"] == "record_count":
            assert line["message"] == f"METRIC: {json.dumps(info, separators=(',', ':'))}"
            assert line["stream_name"] == info["tags"]["stream"]
            found[line["stream_name"]] = info["value"]
    assert found == {"a": 1200, "b": 34}, outcome.log


STRUCTURED = """
version: 1
disable_existing_loggers: false
formatters: {structured: {(): singer_sdk.logging.StructuredFormatter}}
handlers: {log: {class: logging.StreamHandler, formatter: structured, stream: "ext://sys.stderr"}}
root: {level: INFO, handlers: [log]}
"""
