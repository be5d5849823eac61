"""DAGs that commits start: no commit is lost, whatever is killed meanwhile."""

from __future__ import annotations

import json
import random
import time

import pytest

from tests.airflow.conftest import Ground
from tests.airflow.server import until
from tests.faults.scale import scaled
from tests.lake.landing import land

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

STREAM = "watched"
KILLS = scaled(1, 20)
COMMITS = 6
"""Between two kills."""


def test_every_commit_is_read_once_by_a_run_that_succeeds(ground: Ground) -> None:
    """The triggerer is killed at any moment while commits go on."""
    airflow, count = ground.airflow, 0
    chance = random.Random(21)
    until(lambda: airflow.has_state_of_asset("tap-test--tests/watched"), "the watcher began")
    for _ in range(KILLS):
        for _ in range(chance.randrange(1, COMMITS)):
            land(ground.store, [count], stream=STREAM)
            count += 1
            time.sleep(chance.uniform(0, 1.5))
        airflow.kill("triggerer")
        land(ground.store, [count], stream=STREAM)  # while nobody looks
        count += 1
        airflow.start("triggerer")
        # The next kill has to hit a watcher that works.
        until(lambda so_far=count: _is_read(ground, so_far), f"{count} commits are read")
    assert _read(ground) == list(range(1, count + 1))
    assert len(_tries(ground)) >= KILLS
    # What failed after its effect was tried again with the same commits.
    for numbers in _tries(ground).values():
        assert all(one == numbers[0] for one in numbers)


def _is_read(ground: Ground, count: int) -> bool:
    return _read(ground)[-1:] == [count] and _are_over(ground)


def _tries(ground: Ground) -> dict[str, list[list[int]]]:
    tries: dict[str, list[list[int]]] = {}
    lines = ground.sink.read_text().splitlines() if ground.sink.exists() else []
    for line in map(json.loads, lines):
        tries.setdefault(line["run"], []).append(line["numbers"])
    return tries


def _read(ground: Ground) -> list[int]:
    """In order, run by run: of several tries of a run the last counts."""
    return [number for numbers in _tries(ground).values() for number in numbers[-1]]


def _are_over(ground: Ground) -> bool:
    states = {run["state"] for run in ground.airflow.runs("on_commits")}
    assert "failed" not in states
    return states == {"success"}
