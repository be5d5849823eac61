"""The commands that run on Spark: what they answer. What they do there is tested with Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from singerlake.lake import check
from tests.cli.lake import EVIL, EVIL_TAP, TAP, folder, land, run, said, told


def test_project_tells_what_it_would_publish(built: Path, tmp_path: Path) -> None:
    out = tmp_path / "tables"
    rows = [
        line.split() for line in said("project", built, out, "--tap", TAP, "--dry-run").splitlines()
    ]
    assert rows[0][:3] == ["stream", "status", "version"]
    assert ["orders", "planned", "0", "3"] in [row[:4] for row in rows]
    found = told("project", built, out, "--tap", EVIL_TAP, "--dry-run")
    assert [(row["stream"], row["status"]) for row in found] == [
        (EVIL, "planned"),
        ("orders", "planned"),
    ]
    assert "na\\x1b[31mme\\n" in said("project", built, out, "--tap", EVIL_TAP, "--dry-run")
    assert not out.exists()


def test_the_root_of_project_may_come_from_the_environment(built: Path, tmp_path: Path) -> None:
    shown = said("project", tmp_path, "--tap", TAP, "--dry-run", SINGERLAKE_ROOT=str(built))
    assert "orders" in shown


def test_a_stream_that_fails_keeps_no_other_from_being_published(
    built: Path, tmp_path: Path
) -> None:
    streams = [word for name in ("no", "orders", "none") for word in ("--stream", name)]
    arguments = ("project", built, tmp_path, "--tap", TAP, "--dry-run", *streams)
    rows = {row["stream"]: row["status"] for row in told(*arguments, code=2)}
    assert rows == {"orders": "planned", "no": "failed", "none": "failed"}
    assert run(*arguments).stderr.count("Error: UnknownStream: ") == 2


@pytest.fixture
def without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stand-in for the job, which reads the files here."""

    def verify(spark: object, store: Any, *only: str | None, **options: Any) -> object:
        return check(store, *only, **options)

    monkeypatch.setattr(
        "singerlake.cli.verify.spark_module", lambda _: SimpleNamespace(verify=verify)
    )
    monkeypatch.setattr("singerlake.cli.verify.spark_session", lambda *_: None)


@pytest.mark.usefixtures("without_spark")
def test_verify_answers_as_check_does(built: Path) -> None:
    assert said("verify", built, code=1) == said("check", built, code=1)
    assert told("verify", built, code=1) == told("check", built, code=1)
    assert told("verify", built, "--tap", EVIL_TAP)["clean"]


@pytest.mark.slow
def test_vacuum_merges_on_a_spark_of_its_own_and_keeps_every_record(tmp_path: Path) -> None:
    root, small = tmp_path / "lake", (TAP, "small")
    for number in range(6):
        land(root, *small, [number])
    before = said("cat", root, *small)
    assert len(before.splitlines()) == 6
    # In a process of its own: a session that is left behind would be that of other tests.
    command = [sys.executable, "-m", "singerlake.cli", "vacuum", str(root), "--apply", "--json"]
    done = subprocess.run(
        [*command, "--master", "local[2]"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [row] = json.loads(done.stdout)["streams"]
    assert (row["status"], row["files_before"], row["files_after"]) == ("merged", 6, 1)
    assert said("cat", root, *small) == before
    said("vacuum", root, "--purge", "--grace", "0", "--apply")
    assert len(list(folder(root, "small").rglob("*.singer.gz"))) == 1
    assert said("cat", root, *small) == before
    assert told("check", root)["clean"]


def test_spark_is_asked_for_where_it_is_missing(
    built: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> object:
        raise ModuleNotFoundError(name="pyspark")

    monkeypatch.setattr("singerlake.cli.extra.importlib.import_module", missing)
    for command in (["verify", built], ["project", built, "out", "--tap", TAP]):
        result = run(*command)
        assert result.exit_code == 2
        assert 'pip install "singerlake[spark]"' in result.stderr
