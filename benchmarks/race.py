"""Commands that do the same work, measured in turns, and what is told of them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import pipe
from benchmarks.meter import Cost, Failed, measure
from benchmarks.result import Cell, Table

ROUNDS = 5
SLOW_ROUNDS = 2
MEGA = 1_000_000

Pipeline = list[list[str]]


@dataclass(frozen=True)
class Entrant:
    """A command in the race.

    `work` and `start` make the pipeline, in a folder that is empty and thrown away: the whole
    work, and the same command with nothing to do, whose time is taken off as its start-up.
    What the command leaves under `lake` there is counted as its output.
    """

    name: str
    records: int
    raw_bytes: int
    work: Callable[[Path], Pipeline]
    start: Callable[[Path], Pipeline]
    measured: int
    environment: Mapping[str, str] = field(default_factory=dict)
    keeps_output: bool = False
    is_slow: bool = False


@dataclass
class Found:
    """An entrant's costs over all rounds. The least count, and the most memory."""

    entrant: Entrant
    costs: list[Cost] = field(default_factory=list)
    starts: list[Cost] = field(default_factory=list)
    output_bytes: int = 0
    failure: str = ""

    @property
    def start(self) -> float:
        return min(cost.wall for cost in self.starts)

    @property
    def wall(self) -> float:
        """Seconds, with the start-up's taken off."""
        return _difference([c.wall for c in self.costs], [c.wall for c in self.starts])

    @property
    def processor(self) -> float:
        """Seconds of processor, with the start-up's taken off."""
        return _difference([c.processor for c in self.costs], [c.processor for c in self.starts])

    @property
    def peak(self) -> float:
        """Megabytes."""
        return max(cost.peak_bytes for cost in self.costs) / MEGA

    def times(self, other: Found) -> float:
        """How many times the other's rate this one's is."""
        return (self.entrant.records / self.wall) / (other.entrant.records / other.wall)

    def times_by_processor(self, other: Found) -> float:
        """The same, per second of processor."""
        ours, theirs = self.entrant.records, other.entrant.records
        return (ours / self.processor) / (theirs / other.processor)


def race(entrants: Sequence[Entrant], within: Path | None = None) -> dict[str, Found]:
    """Measure all in turns, so that a busy moment falls on none of them alone.

    What they write is `within` this folder, or that of all benchmarks.
    """
    found = {entrant.name: Found(entrant) for entrant in entrants}
    for number in range(ROUNDS):
        for one in found.values():
            if not one.failure and number < (SLOW_ROUNDS if one.entrant.is_slow else ROUNDS):
                _take(one, within or Path(pipe.folder().name))
                _tell(number, one)
    return found


def _take(found: Found, within: Path) -> None:
    entrant = found.entrant
    try:
        for make, costs in ((entrant.start, found.starts), (entrant.work, found.costs)):
            with tempfile.TemporaryDirectory(dir=within) as name:
                folder = Path(name)
                (folder / "lake").mkdir()
                output = folder / "lake" / "output" if entrant.keeps_output else None
                commands = make(folder)
                costs.append(measure(commands, entrant.measured, output, entrant.environment))
                files = (path for path in (folder / "lake").rglob("*") if path.is_file())
                found.output_bytes = sum(path.stat().st_size for path in files)
    except Failed as error:
        found.failure = str(error)


def _tell(number: int, found: Found) -> None:
    """Word of how it goes, beside the results."""
    how = found.failure or f"{found.wall:.2f} s, CPU {found.processor:.2f} s, at best"
    print(f"  round {number + 1}: {found.entrant.name}: {how}", file=sys.stderr, flush=True)


def table(
    title: str, found: Mapping[str, Found], us: Found, limit: Found, with_output: bool = True
) -> Table:
    rows: list[list[Cell]] = []
    for one in found.values():
        if one.failure:
            continue
        raw = one.entrant.raw_bytes
        row: list[Cell] = [
            one.entrant.name,
            one.entrant.records,
            one.start,
            one.wall,
            one.processor,
            one.entrant.records / one.wall / 1000,
            raw / one.wall / MEGA,
            one.times(limit),
            one.times_by_processor(limit),
            None if one is us else us.times(one),
            None if one is us else us.times_by_processor(one),
            one.peak,
        ]
        rows.append([*row, 100 * one.output_bytes / raw] if with_output else row)
    columns = [
        "command",
        "records",
        "start, s",
        "seconds",
        "CPU, s",
        "k records/s",
        "MB/s",
        f"of {limit.entrant.name}",
        "by CPU",
        "we / it",
        "by CPU",
        "peak, MB",
    ]
    return Table(title, [*columns, "output, %"] if with_output else columns, rows)


def failures(found: Mapping[str, Found]) -> list[str]:
    return [f"{name} failed: {one.failure}." for name, one in found.items() if one.failure]


def surroundings() -> list[str]:
    """What else may have had a part in the numbers."""
    notes = [
        f"Seconds are the best of {ROUNDS} rounds ({SLOW_ROUNDS} for slow peers), "
        "less the best of as many with nothing to do. CPU is the command's own user and system "
        "time, on all its threads. Peaks of up to 15 MB are those of the meter. The machine's load "
        f"was {os.getloadavg()[0]:.1f} when this ended, on {os.cpu_count()} cores: if that is far "
        "more, seconds tell little."
    ]
    if pipe.SCALE != 1:
        notes.append(f"BENCHMARK_SCALE={pipe.SCALE:g}: not the full number of records.")
    return notes


def config(folder: Path, /, **settings: Any) -> str:
    """The path of a plugin's config file."""
    path = folder / "config.json"
    path.write_text(json.dumps({name: _plain(value) for name, value in settings.items()}))
    return str(path)


def on_one_core(commands: Pipeline) -> Pipeline:
    """The same, side by side on the first core: where the scheduler parts them, they take twice as
    long. As they are, where nothing can say so."""
    if shutil.which("taskset") is None:
        return commands
    return [["taskset", "-c", "0", *command] for command in commands]


def _plain(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else value


def igzip() -> list[str]:
    """ISA-L's own command where it is installed, else the same library's from PyPI."""
    found = shutil.which("igzip")
    return [found] if found else [sys.executable, "-m", "isal.igzip"]


def about_igzip() -> str:
    if shutil.which("igzip"):
        return "igzip is ISA-L's own command, of the system."
    return "igzip is `python -m isal.igzip`: ISA-L's own command is not installed."


def _difference(costs: Sequence[float], starts: Sequence[float]) -> float:
    return max(min(costs) - min(starts), 0.001)
