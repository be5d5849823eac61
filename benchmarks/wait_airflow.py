"""Waits in a real Airflow: what they cost while nothing comes, and how late they see what comes."""

from __future__ import annotations

import json
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path
from statistics import median

from benchmarks.result import Cell, Goal, Table
from singerlake.lake import open_lake
from tests.airflow.conftest import start
from tests.airflow.server import ENDS, Airflow, airflow, until

DAGS = Path(__file__).parent / "peers" / "airflow"
KINDS = {
    "ours": "EventsSensor (ours)",
    "deferrable": "FileSensor, deferrable",
    "reschedule": "FileSensor, reschedule",
    "poke": "FileSensor, poke",
}
WAITS = 4
INTERVAL = 5.0
ROUNDS = int(os.environ.get("SINGERLAKE_WAIT_ROUNDS", "5"))
SECONDS = 30.0
"""How long nothing comes, in each round."""

SAMPLES = 5
"""A second: how often Airflow's database is asked which tasks run."""

WAITING = {
    "ours": ("deferred",),
    "deferrable": ("deferred",),
    "reschedule": ("up_for_reschedule", "scheduled", "queued", "running"),
    "poke": ("running",),
}
"""States of a task that waits, by kind."""

TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class _Found:
    slots: float = 0.0
    """Seconds of worker slots, while nothing comes."""
    begin_slots: float = 0.0
    """The same, of the beginning and the end of the waits."""
    processor: float = 0.0
    seconds: float = 0.0
    late: list[float] = field(default_factory=list)


def measured() -> tuple[Table, list[Goal], list[str]]:
    """A table, goals and notes."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        found = _in_airflow(Path(folder))
    rows: list[list[Cell]] = []
    for kind, name in KINDS.items():
        one = found[kind]
        minutes = one.seconds / 60
        rows.append(
            [
                name,
                one.slots / minutes / WAITS,
                one.begin_slots / ROUNDS / WAITS,
                (one.processor - found["idle"].processor * one.seconds / found["idle"].seconds)
                / minutes,
                median(one.late),
                max(one.late),
            ]
        )
    columns = (
        "sensor",
        "worker slot, s a minute of waiting",
        "worker slot, s at begin and end",
        f"CPU of Airflow for {WAITS}, s a minute",
        "event to success, s (p50)",
        "worst",
    )
    ours, classic = found["ours"], found["deferrable"]
    goals = [
        Goal("worker slots of our waits, s", ours.slots + ours.begin_slots, 0.0),
        Goal(
            "our median time from commit to success, of that of Airflow's deferrable sensor",
            median(ours.late) / median(classic.late),
            1.0,
        ),
    ]
    notes = [
        f"*In Airflow*: a real one on this machine (scheduler, triggerer, API server, SQLite), "
        f"{WAITS} waits at a time that look every {INTERVAL:g} s, {ROUNDS} rounds of {SECONDS:g} s "
        "without an event, then one at a random moment. Worker slots are sampled: tasks that run, "
        f"{SAMPLES} times a second. CPU is that of all of Airflow's processes, without what they "
        "take when nothing waits. A deferrable sensor begins on a worker, and comes back to one.",
    ]
    return Table("Waits in Airflow", columns, rows), goals, notes


def _in_airflow(home: Path) -> dict[str, _Found]:
    root = home / "lake"
    open_lake(root, create=True)
    _commit(root, 0)
    variables = {
        "SINGERLAKE_ROOT": str(root),
        "SINGERLAKE_EVENTS_DATABASE": f"sqlite:///{home / 'events.db'}",
        "AIRFLOW_CONN_FS_DEFAULT": json.dumps({"conn_type": "fs"}),
        "AIRFLOW__CORE__PARALLELISM": str(4 * WAITS),
        "BENCH_WAITS": str(WAITS),
        "BENCH_INTERVAL": str(INTERVAL),
    }
    with airflow(home / "airflow", [DAGS], **variables) as running:
        start(running, tuple(KINDS))
        found = {"idle": _Found(), **{kind: _Found() for kind in KINDS}}
        time.sleep(SECONDS)  # until all have parsed and begun
        _watched(running, "", SECONDS, found["idle"])
        chance = random.Random(21)
        for number in range(1, ROUNDS + 1):
            for kind in KINDS:
                _round(running, root, kind, number, found[kind], chance)
        return found


def _round(
    running: Airflow, root: Path, kind: str, number: int, found: _Found, chance: random.Random
) -> None:
    file = root.parent / f"{kind}-{number}"
    run = running.trigger(kind, {"file": str(file)})
    begin = _Found()
    _watched_until(running, run, begin, lambda states: _all(states, WAITING[kind]))
    _watched(running, run, SECONDS + chance.uniform(0, INTERVAL), found)
    if kind == "ours":
        _commit(root, number)
    else:
        file.touch()
    came = datetime.now(timezone.utc)
    _watched_until(running, run, begin, lambda states: _all(states, ENDS))
    found.begin_slots += begin.slots
    for state, end in _tasks(running, run, "state, end_date"):
        assert state == "success", f"{kind}: {state}"
        found.late.append((_moment(end) - came).total_seconds())


def _all(states: list[str | None], wanted: tuple[str, ...]) -> bool:
    return len(states) == WAITS and all(state in wanted for state in states)


def _watched(running: Airflow, run: str, seconds: float, found: _Found) -> None:
    end, before = time.monotonic() + seconds, _processor(running)
    for passed, states in _samples(running, run):
        found.slots += passed * states.count("running")
        found.seconds += passed
        if time.monotonic() >= end:
            break
    found.processor += _processor(running) - before


def _watched_until(
    running: Airflow, run: str, found: _Found, is_over: Callable[[list[str | None]], bool]
) -> None:
    samples = _samples(running, run)

    def look() -> bool:
        passed, states = next(samples)
        found.slots += passed * states.count("running")
        return is_over(states)

    until(look, "all waits are in that state")


def _samples(running: Airflow, run: str) -> Iterator[tuple[float, list[str | None]]]:
    """How long since the last sample, and the states of a run's tasks."""
    last = time.monotonic()
    while True:
        time.sleep(1 / SAMPLES)
        states = [state for (state,) in _tasks(running, run, "state")]
        now = time.monotonic()
        yield now - last, states
        last = now


def _tasks(running: Airflow, run: str, columns: str) -> list[tuple[str | None, ...]]:
    """From Airflow's database: its API server would take part in what is measured."""
    path = f"file:{running.home / 'airflow.db'}?mode=ro"
    with closing(sqlite3.connect(path, uri=True, timeout=30)) as database:
        query = f"select {columns} from task_instance where run_id = ?"
        return list(database.execute(query, (run,)))


def _moment(text: str | None) -> datetime:
    return datetime.fromisoformat(str(text)).replace(tzinfo=timezone.utc)


def _processor(running: Airflow) -> float:
    """Seconds that Airflow's processes have taken, with their children that have ended."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        pid = int(path.parent.name)
        parents[pid], ticks[pid] = int(fields[1]), sum(map(int, fields[11:15]))
    ours = {process.pid for process in running.running.values()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return sum(ticks.get(pid, 0) for pid in ours) / TICKS


def _commit(root: Path, number: int) -> None:
    with open_lake(root).writer("tap-bench--wait") as writer:
        writer.write(b'{"type":"SCHEMA","stream":"s","schema":{}}')
        writer.write(b'{"type":"RECORD","stream":"s","record":{"id":%d}}' % number)
        writer.commit()
