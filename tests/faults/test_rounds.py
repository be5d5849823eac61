"""Histories with real processes, in a folder and on a real S3 server."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.faults.pipeline import Place, lake_folder
from tests.faults.result import Line
from tests.faults.rounds import ROUNDS, Rounds
from tests.faults.scale import WHOLE, scaled
from tests.faults.truth import Violation

SUITE = "Histories"
TEST = "tests/faults/test_rounds.py"
COUNTS = {"a folder": scaled(1, 60), "S3": scaled(0, 12)}


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", [kind for kind, count in COUNTS.items() if count])
def test_processes_that_work_at_once_lose_and_double_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    line = Line(SUITE, f"real processes, {kind}", TEST, bounds=f"{ROUNDS} rounds of two or three")
    for seed in range(COUNTS[kind]):
        folder = tmp_path / str(seed)
        folder.mkdir()
        place = lake_folder(folder)
        if kind == "S3":
            place = Place.of(request.getfixturevalue("seaweedfs"))
        rounds = Rounds(place, folder, random.Random(seed))
        try:
            rounds.play()
        except Violation as violation:
            line.violations += 1
            line.keep()
            pytest.fail(f"{kind}, seed {seed}: {violation}")
        line.runs += 1
        line.faults += rounds.faults
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.skipif(not WHOLE, reason="the kills have this control in every share")
def test_a_state_before_its_commit_is_seen(tmp_path: Path) -> None:
    line = Line(SUITE, "control: real processes, a STATE before its commit", TEST)
    seen = ""
    for seed in range(20):
        folder = tmp_path / str(seed)
        folder.mkdir()
        try:
            Rounds(lake_folder(folder), folder, random.Random(seed), early=True).play()
        except Violation as violation:
            seen = violation.kind
            break
    line.control(seen == "LOST", seen)
