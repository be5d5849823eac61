"""Events of a projection: the table, its columns, and what did not fit."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner

from singerlake.cli import main
from singerlake.lake import consumers
from singerlake.lineage.emitter import emitter
from singerlake.store import open_store
from tests.lineage.oracle import require_valid
from tests.lineage.receiver import receiving, steps
from tests.spark.projecting import TAP, Projector, commit_of, everything
from tests.zygote import PATIENCE


def test_a_projection_reports_its_table_and_what_did_not_fit(
    projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(emitter, "AT_THE_END", PATIENCE)
    projector.land(commit_of("orders", {"type": "integer"}, 1, "no number", 3))
    given = ["project", projector.lake, TAP, "orders", "--out", projector.out, "--mode", "current"]
    with receiving() as receiver:
        environment = {"SINGERLAKE_LINEAGE": receiver.url}
        first = CliRunner(env=environment).invoke(main, given)
        second = CliRunner(env=environment).invoke(main, [*given, "--max-misfits", "1"])
        events = receiver.events
    assert (first.exit_code, second.exit_code) == (1, 0), first.output + second.output
    job = f"{TAP}.project.orders"
    assert steps(events) == [(job, each) for each in ("START", "FAIL", "START", "COMPLETE")]
    for event in events:
        require_valid(event)
    assert events[1]["run"]["facets"]["errorMessage"]["message"] == "TooManyMisfits"
    (source,), (table,) = events[-1]["inputs"], events[-1]["outputs"]
    assert table["name"] == f"{projector.out}/{TAP}/orders"
    assert [one["name"] for one in table["facets"]["schema"]["fields"]] == ["id", "v"]
    made = table["facets"]["columnLineage"]
    assert {to: one["inputFields"][0]["field"] for to, one in made["fields"].items()} == {
        "id": "id",
        "v": "v",
    }
    assert [(one["field"], one["transformations"][0]["subtype"]) for one in made["dataset"]] == [
        ("id", "WINDOW")
    ]
    assert table["outputFacets"]["outputStatistics"]["rowCount"] == 3
    whole, column = source["inputFacets"]["dataQualityAssertions"]["assertions"]
    assert not whole["success"]
    assert (column["column"], column["actual"]) == ("v", "1")
    (noted,) = consumers.of_stream(open_store(projector.lake), TAP, "orders")
    assert (noted.kind, noted.sequence, noted.detail) == ("projection", 1, "parquet, current")


@pytest.mark.slow
def test_sigterm_in_the_middle_aborts_a_projection(projector: Projector) -> None:
    """The command itself, while it waits for Spark's Java process."""
    projector.land(everything(range(20_000)))
    words = ["project", projector.lake, TAP, "everything", "--out", projector.out]
    with receiving() as receiver:
        environment = {**os.environ, "SINGERLAKE_LINEAGE": receiver.url}
        process = subprocess.Popen(
            [sys.executable, "-m", "singerlake.cli", *words, "--master", "local[1]"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env=environment,
        )
        with process:
            receiver.wait_for(1, lambda: process.poll() is None)
            time.sleep(0.5)  # far from its end: a first job of Spark takes seconds
            process.terminate()
            _, log = process.communicate(timeout=PATIENCE)
        job = f"{TAP}.project.everything"
        assert process.returncode == 143, log
        assert steps(receiver.events) == [(job, "START"), (job, "ABORT")], log
    assert b"Traceback" not in log, log
    assert not projector.data_files()
