"""What every command costs before it does anything: seconds, CPU and memory of small runs."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import pipe, race
from benchmarks.meter import Cost, measure
from benchmarks.result import Cell, Goal, Result, Table
from tests.plugin import meltano

ROUNDS = 5
MOST = 0.25
TAP = "tap-bench--start"

_LINES = (
    '{"type":"SCHEMA","stream":"s","schema":{"properties":{"id":{"type":"integer"}}},'
    '"key_properties":["id"]}\n'
    '{"type":"RECORD","stream":"s","record":{"id":1}}\n'
    '{"type":"STATE","value":{"at":1}}\n'
)


def run() -> Result:
    found: dict[str, list[Cost]] = {name: [] for name in COMMANDS}
    for name in COMMANDS:
        _cost(name)  # compiles the modules
    for _ in range(ROUNDS):
        for name, costs in found.items():
            costs.append(_cost(name))
    rows: list[list[Cell]] = []
    goals = []
    for name, costs in found.items():
        wall = min(cost.wall for cost in costs)
        processor = min(cost.processor for cost in costs)
        rows.append([name, wall, processor, min(cost.peak_bytes for cost in costs) / race.MEGA])
        if name != PYTHON:
            goals.append(Goal(f"{name}: seconds", wall, MOST))
    table = Table("Small runs, local lake", ("command", "seconds", "CPU, s", "peak, MB"), rows)
    notes = [
        f"The best of {ROUNDS} rounds, in turns. Target and tap land and replay one record; under "
        "Meltano they log as it asks them to. The machine's "
        f"load was {os.getloadavg()[0]:.1f} when this ended, on {os.cpu_count()} cores.",
    ]
    return Result([table], goals, notes)


def target(folder: Path) -> race.Pipeline:
    """Lands one record in a lake that is not there yet."""
    settings = race.config(folder, lake_root=folder / "lake", tap_id=TAP)
    command = [sys.executable, "-m", "target_singerlake", "--config", settings]
    return [["cat", str(_messages())], command]


def tap(folder: Path) -> race.Pipeline:
    settings = race.config(folder, lake_root=_lake(), tap_id=TAP)
    return [[sys.executable, "-m", "tap_singerlake", "--config", settings]]


def command_help(folder: Path) -> race.Pipeline:
    return [[sys.executable, "-m", "singerlake.cli", "--help"]]


def ls(folder: Path) -> race.Pipeline:
    return [[sys.executable, "-m", "singerlake.cli", "ls", str(_lake())]]


def _python(folder: Path) -> race.Pipeline:
    return [[sys.executable, "-c", "pass"]]


PYTHON = "python alone"
COMMANDS: dict[str, Callable[[Path], race.Pipeline]] = {
    PYTHON: _python,
    "target-singerlake": target,
    "tap-singerlake": tap,
    "target-singerlake, under Meltano": target,
    "tap-singerlake, under Meltano": tap,
    "singerlake --help": command_help,
    "singerlake ls": ls,
}


def _cost(name: str) -> Cost:
    with pipe.new_folder() as folder:
        commands = COMMANDS[name](folder)
        around = meltano.environment(folder) if name.endswith("under Meltano") else {}
        return measure(commands, len(commands) - 1, environment=around)


@functools.cache
def _messages() -> Path:
    path = Path(pipe.folder().name, "one.singer")
    path.write_text(_LINES)
    return path


@functools.cache
def _lake() -> Path:
    folder = Path(pipe.folder().name, "lake-of-one")
    folder.mkdir()
    measure(target(folder), 1)
    return folder / "lake"
