"""The project in meltano.yml, for real: installed, run in both directions, and run again; and with
a tap that fails."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from singerlake import check, open_lake
from singerlake.format.manifest import File
from tests.plugins import venvs
from tests.runs import tap
from tests.runs.loads import BETWEEN, MOMENTS, load, rows_of, runs_of
from tests.target.driving import TAP_ID as FAILING_TAP_ID

REPOSITORY = Path(__file__).parents[2]
TAP_ID = "tap-spreadsheets--pypi"
NEW_ORDERS = """\
id,customer_id,item,quantity,price,ordered_at
1006,2,Cup and saucer,2,7.25,2026-03-03T10:00:00Z
1007,3,Gyokuro 50 g,1,21.40,2026-03-03T16:45:12Z
"""


class Project:
    """A copy of this repository's project, and Meltano."""

    def __init__(self, folder: Path, meltano: Path) -> None:
        self.folder, self._meltano = folder, meltano
        self.lake = folder / "demo-lake"

    def meltano(self, *arguments: str, exit_code: int = 0, **environment: str) -> str:
        """Run Meltano; returns what it logged."""
        clean = {name: value for name, value in os.environ.items() if not _is_meltanos(name)}
        done = subprocess.run(
            [self._meltano, *arguments],
            cwd=self.folder,
            env=clean | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == exit_code, done.stdout
        return done.stdout

    def sample(self, stream: str) -> list[dict[str, str]]:
        """The rows of the sample files, in order."""
        paths = sorted((self.folder / "sample").glob(f"{stream}.csv")) or sorted(
            (self.folder / "sample" / stream).glob("*.csv")
        )
        return [row for path in paths for row in csv.DictReader(path.open(encoding="utf-8"))]

    def landed(self, stream: str) -> list[dict[str, Any]]:
        return list(open_lake(self.lake).stream(TAP_ID, stream).snapshot().records())

    def files(self, stream: str) -> list[File]:
        return list(open_lake(self.lake).stream(TAP_ID, stream).snapshot().files())

    def replayed(self, stream: str) -> list[dict[str, Any]]:
        text = (self.lake / "replayed" / f"{stream}.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]

    def assert_same_at_both_ends(self, stream: str) -> None:
        """Every row of the sample is in the lake once, and came out of it once."""
        sample = self.sample(stream)
        assert [_as_text(row, sample[0]) for row in self.landed(stream)] == sample
        assert self.replayed(stream) == self.landed(stream)


def _is_meltanos(variable: str) -> bool:
    """Whether it may be from a Meltano, or a virtual environment, that runs these tests."""
    return variable.startswith(("MELTANO_", "TAP_", "TARGET_", "VIRTUAL_ENV"))


def _as_text(row: Mapping[str, Any], columns: Mapping[str, str]) -> dict[str, str]:
    """A record as the sample has it: without the tap's own columns, prices with two digits."""
    return {name: f"{row[name]:.2f}" if name == "price" else str(row[name]) for name in columns}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """Installed once: that takes longest."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = tmp_path_factory.mktemp("meltano") / "project"
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, folder / name)
    # The tap goes by the files' times, in whole seconds.
    for path in (folder / "sample").rglob("*.csv"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    requirements = Path(__file__).parent / "requirements.txt"
    made = Project(folder, venvs.environment(requirements, "meltano") / "bin" / "meltano")
    assert "Installed 4/4 plugins" in made.meltano("install")
    return made


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_directions_twice(project: Project) -> None:
    definition = (project.folder / "meltano.yml").read_bytes()
    run_id = str(uuid.uuid4())
    more = {"MELTANO_RUN_ID": run_id, "PYTHONPROFILEIMPORTTIME": "1"}
    log = project.meltano("run", "tap-spreadsheets", "target-singerlake", **more)
    imports = [line for line in log.splitlines() if "target-singerlake import time:" in line]
    assert any("target_singerlake" in line.rpartition("|")[2] for line in imports), log
    assert not any("singer_sdk" in line.rpartition("|")[2] for line in imports)
    measured = [line for line in log.splitlines() if "target-singerlake METRIC" in line]
    assert sum('"stream":"orders"' in line for line in measured) == 1, log
    project.meltano("run", "tap-singerlake", "target-jsonl")
    for stream in ("customers", "orders"):
        project.assert_same_at_both_ends(stream)
        assert [file.run_id for file in project.files(stream)] == [run_id]

    (project.folder / "sample" / "orders" / "2026-03-03.csv").write_text(NEW_ORDERS)
    project.meltano("run", "tap-spreadsheets", "target-singerlake")
    project.meltano("run", "tap-singerlake", "target-jsonl")
    # Only what is new was landed, and only that came out: nothing is there twice.
    for stream in ("customers", "orders"):
        project.assert_same_at_both_ends(stream)
    assert [file.records for file in project.files("customers")] == [4]
    assert [file.records for file in project.files("orders")] == [5, 2]

    # Meltano's run id is the lake's, and a pipe that Meltano closed is seen to be complete.
    first, second = open_lake(project.lake).tap(TAP_ID).runs(open=True)
    assert first.run_id == run_id != second.run_id
    assert [run.outcome for run in (first, second)] == ["complete", "complete"]
    assert {name: stream.records for name, stream in first.streams.items()} == {
        "customers": 4,
        "orders": 5,
    }

    assert check(open_lake(project.lake).store).clean
    assert (project.folder / "meltano.yml").read_bytes() == definition


@pytest.fixture
def failing_tap(project: Project) -> Iterator[Callable[..., str]]:
    """Runs a tap that sends the first lines of a load, and ends as it is told; see `tap`."""
    lines, script = project.folder / "lines", project.folder / "tap-failing"
    definition = project.folder / "meltano.yml"
    before = definition.read_bytes()
    whole = yaml.safe_load(before)
    name, variant = FAILING_TAP_ID.split("--")
    plugin = {"name": name, "variant": variant, "namespace": "failing", "executable": str(script)}
    whole["plugins"]["extractors"].append(plugin)
    definition.write_text(yaml.safe_dump(whole))

    def run(first: int, count: int, end: str, exit_code: int = 1) -> str:
        lines.write_text("".join(f"{line}\n" for line in load(first)))
        command = f"{sys.executable} -S -E {tap.__file__} {lines} {count} {end}"
        script.write_text(f"#!/bin/sh\nexec {command}\n")
        script.chmod(0o755)
        return project.meltano("run", name, "target-singerlake", exit_code=exit_code)

    yield run
    definition.write_bytes(before)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_tap_that_fails(project: Project, failing_tap: Callable[..., str]) -> None:
    """Meltano does not tell the target. So STATE decides, and there is one case that it cannot see:
    the tap fails right after a STATE (docs/decisions/runs.md)."""
    failing_tap(0, MOMENTS, "exit 0", exit_code=0)
    whole = list(range(8))
    failing_tap(100, BETWEEN - 1, "exit 1")
    assert [run.outcome for run in runs_of(project.lake)] == ["complete", "ended"]
    assert [run.records for run in runs_of(project.lake)] == [13, 8]
    assert rows_of(project.lake, "orders") == whole

    failing_tap(200, BETWEEN, "exit 1")
    assert [run.outcome for run in runs_of(project.lake)] == ["complete", "ended", "complete"]
    assert rows_of(project.lake, "orders") == [200 + number for number in whole]
    assert rows_of(project.lake, "hits") == list(range(5))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_tap_that_is_killed(project: Project, failing_tap: Callable[..., str]) -> None:
    """In the middle, and after its last record, where only the last STATE is missing."""
    failing_tap(400, MOMENTS, "exit 0", exit_code=0)
    before = len(runs_of(project.lake))
    for first, count in ((500, MOMENTS // 2), (600, MOMENTS - 2)):
        failing_tap(first, count, "kill")
        assert rows_of(project.lake, "orders") == [400 + number for number in range(8)]
        assert rows_of(project.lake, "hits") == [400 + number for number in range(5)]
    killed = runs_of(project.lake)[before:]
    assert [run.outcome for run in killed] == ["ended", "ended"]
    assert [run.records for run in killed] == [8, 13]
    assert check(open_lake(project.lake).store).clean
