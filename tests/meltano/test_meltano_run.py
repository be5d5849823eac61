"""The project in meltano.yml, for real: installed, run in both directions, and run again."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from singerlake import check, open_lake
from singerlake.format.manifest import File
from tests.plugins import venvs

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

    def meltano(self, *arguments: str, **environment: str) -> str:
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
        assert done.returncode == 0, done.stdout
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


@pytest.fixture
def project(tmp_path: Path) -> Project:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = tmp_path / "project"
    for name in filter(None, listed.stdout.split("\0")):
        if (REPOSITORY / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(REPOSITORY / name, folder / name)
    # The tap goes by the files' times, in whole seconds.
    for path in (folder / "sample").rglob("*.csv"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    requirements = Path(__file__).parent / "requirements.txt"
    return Project(folder, venvs.environment(requirements, "meltano") / "bin" / "meltano")


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_both_directions_twice(project: Project) -> None:
    definition = (project.folder / "meltano.yml").read_bytes()
    assert "Installed 4/4 plugins" in project.meltano("install")

    run_id = str(uuid.uuid4())
    log = project.meltano("run", "tap-spreadsheets", "target-singerlake", MELTANO_RUN_ID=run_id)
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
