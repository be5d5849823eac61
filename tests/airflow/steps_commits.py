"""DAGs that commits start: no commit is lost, whatever is killed meanwhile."""

from __future__ import annotations

import json
import random
import sqlite3
import time
from contextlib import closing

from singerlake.format.keys import StreamKeys
from singerlake.lake.rebuilding import rebuild
from tests.airflow.conftest import Ground
from tests.airflow.server import until
from tests.faults.scale import scaled
from tests.lake.landing import TAP, land

DAG = "on_commits"

STREAM = "watched"
ASSET = f"{TAP}/{STREAM}"
KILLS = scaled(1, 20)
COMMITS = 6
"""Between two kills."""

OUTAGE = scaled(1, 1100)
"""Commits while the triggerer is away for the last time: more than one look of a watcher takes."""


def every_commit_is_read_once_by_a_run_that_succeeds(
    ground: Ground, kills: int = KILLS, outage: int = OUTAGE
) -> None:
    """The triggerer is killed at any moment while commits go on."""
    airflow, count = ground.airflow, 0
    chance = random.Random(21)
    until(lambda: airflow.has_state_of_asset(ASSET), "the watcher began")
    for left in reversed(range(kills)):
        for _ in range(chance.randrange(1, COMMITS)):
            land(ground.store, [count], stream=STREAM)
            count += 1
            time.sleep(chance.uniform(0, 1.5))
        airflow.kill("triggerer")
        for _ in range(1 if left else outage):
            land(ground.store, [count], stream=STREAM)  # while nobody looks
            count += 1
        airflow.start("triggerer")
        # The next kill has to hit a watcher that works.
        until(lambda so_far=count: _is_read(ground, so_far), f"{count} commits are read")
    assert _read(ground) == list(range(1, count + 1))
    assert _done(ground) == list(range(1, count + 1))
    assert len(_tries(ground)) >= kills
    # What failed after its effect was tried again with the same commits.
    for numbers in _tries(ground).values():
        assert all(one == numbers[0] for one in numbers)
    # The control: without `once`, what was tried again would be done again.
    tried = [number for numbers in _tries(ground).values() for one in numbers for number in one]
    assert len(tried) > count


def a_rebuild_is_named_and_a_run_can_begin_anew(ground: Ground) -> None:
    """Numbers begin anew: no run says by itself which commits it has read."""
    airflow, numbers = ground.airflow, _read(ground)
    before = {run["dag_run_id"] for run in airflow.runs(DAG)}
    ground.store.delete(StreamKeys(TAP, STREAM).manifest)
    rebuild(ground.store)
    land(ground.store, [numbers[-1] + 1], stream=STREAM)

    def failed() -> str | None:
        runs = (run for run in airflow.runs(DAG) if run["dag_run_id"] not in before)
        return next((run["dag_run_id"] for run in runs if run["state"] == "failed"), None)

    failed_run = until(failed, "a run that reads after the rebuild has failed")
    logs = airflow.logs(DAG, failed_run, "read")
    assert "StaleBookmark" in logs
    assert "new_commits_since" in logs
    run = airflow.trigger(DAG, {"new_commits_since": 0})
    airflow.until_tasks(DAG, run, {"read": "success"})
    everything = _tries(ground)[run][-1]
    assert everything == list(range(1, len(numbers) + 2))
    land(ground.store, [numbers[-1] + 2], stream=STREAM)
    until(lambda: _read(ground)[-1] == everything[-1] + 1, "the DAG goes on")
    assert _read(ground)[len(numbers) :] == [*everything, everything[-1] + 1]


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


def _done(ground: Ground) -> list[int]:
    """What the DAG did, in order."""
    with closing(sqlite3.connect(ground.sink.with_suffix(".db"))) as database:
        return [number for (number,) in database.execute("select number from done order by rowid")]


def _are_over(ground: Ground) -> bool:
    states = {run["state"] for run in ground.airflow.runs(DAG)}
    assert "failed" not in states
    return states == {"success"}
