"""CPU time and seconds of this code next to another revision's, in pairs: `--base REVISION`.

Both run the same commands on the same data with the same environment, in turns. Each pair has one
ratio, and the median of them counts: a busy moment falls on both of a pair, or spoils one.
"""

from __future__ import annotations

import functools
import io
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import click

from benchmarks import landing, pipe, replay, start
from benchmarks.meter import measure
from benchmarks.race import Entrant, Pipeline, config
from benchmarks.result import Cell, Goal, Result, Table

PAIRS = 11
NEW = Path(__file__).parent.parent
"""The code that is compared with the base: what this module belongs to."""

_CASES = Path(__file__).parent / "cases"


Make = Callable[[Path, Path], Pipeline]
"""A pipeline, in a folder that is empty and thrown away. The second folder is that of the old
code, for what has to be prepared with it."""

FASTER = 1.1
FASTER_OF_MANY = 2.5


@dataclass(frozen=True)
class Case:
    """A command that both revisions know.

    User time of the command that is `measured` counts, or with `tells`, the seconds that it prints;
    beside them the seconds from begin to end, less those of `start`, which has nothing to do. The
    old code has to take `least` times as many of these as ours.
    """

    name: str
    work: Make
    measured: int = 0
    tells: bool = False
    start: Make | None = None
    least: float | None = None


def _landing_of(kind: pipe.Kind, name: str, least: float = FASTER) -> Case:
    def entrant() -> Entrant:
        return landing.ours(pipe.messages(kind, kind.records))

    return Case(
        name,
        lambda folder, _: entrant().work(folder),
        measured=1,
        start=lambda folder, _: entrant().start(folder),
        least=least,
    )


def _replay_of(kind: pipe.Kind, name: str, least: float = FASTER) -> Case:
    return Case(
        name,
        lambda folder, base: [list(replay.tap(_lake(kind, base))(folder)), ["cat"]],
        start=lambda folder, base: [list(replay.tap(_lake(None, base))(folder)), ["cat"]],
        least=least,
    )


def _commits(folder: Path, base: Path) -> Pipeline:
    return [[sys.executable, str(_CASES / "commits.py"), str(folder / "lake")]]


def _spark(folder: Path, base: Path) -> Pipeline:
    script = str(_CASES / "spark_aggregate.py")
    return [[sys.executable, script, str(_lake(pipe.SMALL, base)), landing.TAP, "orders"]]


def _small_run(make: Callable[[Path], Pipeline]) -> Make:
    return lambda folder, _: make(folder)


CASES = (
    _landing_of(pipe.SMALL, "landing"),
    _landing_of(pipe.WIDE, "wide"),
    _landing_of(pipe.MANY, "many", FASTER_OF_MANY),
    Case("start-target", _small_run(start.target), measured=1),
    Case("start-tap", _small_run(start.tap)),
    Case("start-ls", _small_run(start.ls)),
    _replay_of(pipe.SMALL, "replay"),
    _replay_of(pipe.WIDE, "replay-wide"),
    Case("commits", _commits),
    Case("spark", _spark, tells=True),
)


def run(base: str, pairs: int = PAIRS, cases: Sequence[str] = ()) -> Result:
    rows: list[list[Cell]] = []
    goals: list[Goal] = []
    with tempfile.TemporaryDirectory(prefix="singerlake-base-") as name:
        old = Path(name)
        _check_out(base, old)
        for tree in (old, NEW):
            _require_code_of(tree)
        for case in CASES:
            if not cases or case.name in cases:
                found = _measure(case, old, pairs)
                rows.append(_row(case, found[old], found[NEW]))
                if case.least is not None:
                    faster = _best(found[old]) / _best(found[NEW])
                    what = f"{case.name}: seconds less start-up, old / new"
                    goals.append(Goal(what, faster, case.least, at_least=True))
    columns = ("case", "pairs", "old, CPU s", "new, CPU s", "new / old", "least", "most")
    wall = ("old, s", "new, s", "old / new")
    notes = [
        "CPU is the command's user time; that of Spark is user and system time of all processes. "
        "`new / old` is the median of the pairs' ratios, the seconds are medians too. `old, s` and "
        "`new, s` are of the same runs from begin to end, the best of all, less the best start-up "
        "of the same code in landing and replay. The "
        f"machine's load was {os.getloadavg()[0]:.1f} when this ended, on {os.cpu_count()} cores.",
    ]
    if pipe.SCALE != 1:
        notes.append(f"BENCHMARK_SCALE={pipe.SCALE:g}: not the full number of records.")
    return Result([Table(f"Next to {base}", [*columns, *wall], rows)], goals, notes)


@dataclass
class _Found:
    """Of one tree: what counts of each run, its seconds from begin to end, and those of starts."""

    counted: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    starts: list[float] = field(default_factory=list)


def _best(found: _Found) -> float:
    return max(min(found.wall) - min(found.starts, default=0.0), 0.001)


def _measure(case: Case, old: Path, pairs: int) -> dict[Path, _Found]:
    found = {old: _Found(), NEW: _Found()}
    for tree in found:
        _take(case, tree, old, _Found())  # compiles the modules, and makes what the case needs
    for number in range(pairs):
        # Whoever is first meets the machine as the last pair left it: so they take turns at that.
        for tree in (old, NEW) if number % 2 else (NEW, old):
            _take(case, tree, old, found[tree])
        ratio = found[NEW].counted[-1] / found[old].counted[-1]
        print(f"  pair {number + 1}: {case.name}: {ratio:.3f}", file=sys.stderr, flush=True)
    return found


def _row(case: Case, old: _Found, new: _Found) -> list[Cell]:
    ratios = [after / before for after, before in zip(new.counted, old.counted, strict=True)]
    return [
        case.name,
        len(ratios),
        statistics.median(old.counted),
        statistics.median(new.counted),
        statistics.median(ratios),
        min(ratios),
        max(ratios),
        _best(old),
        _best(new),
        _best(old) / _best(new),
    ]


def _take(case: Case, tree: Path, base: Path, found: _Found) -> None:
    around = _with_code_of(tree)
    if case.start is not None:
        with pipe.new_folder() as folder:
            cost = measure(case.start(folder, base), case.measured, None, around, tree)
            found.starts.append(cost.wall)
    with pipe.new_folder() as folder:
        output = folder / "output" if case.tells else None
        cost = measure(case.work(folder, base), case.measured, output, around, tree)
        found.wall.append(cost.wall)
        found.counted.append(float(output.read_text().split()[-1]) if output else cost.user)


@functools.cache
def _lake(kind: pipe.Kind | None, base: Path) -> Path:
    """What both read, landed by the old code: the new one has to read that, and not the reverse.

    Without a kind, a stream that has a schema, and no record.
    """
    folder = Path(pipe.folder().name, f"landed-by-the-base-{kind.name if kind else 'bare'}")
    folder.mkdir()
    source = pipe.messages(kind, kind.records).path if kind else pipe.schema_only(pipe.SMALL)
    settings = config(folder, lake_root=folder / "lake", tap_id=landing.TAP)
    target = [sys.executable, "-m", "target_singerlake", "--config", settings]
    measure([["cat", str(source)], target], 1, environment=_with_code_of(base), folder=base)
    return folder / "lake"


def _check_out(revision: str, folder: Path) -> None:
    command = ["git", "-C", str(NEW), "archive", "--format=tar", revision]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        raise click.UsageError(done.stderr.decode().strip())
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")


def _with_code_of(tree: Path) -> dict[str, str]:
    return {"PYTHONPATH": str(tree)}


def _require_code_of(tree: Path) -> None:
    """What is installed must not come before: then both would be the same code."""
    command = [sys.executable, "-c", "import singerlake; print(singerlake.__file__)"]
    environment = {**os.environ, **_with_code_of(tree)}
    done = subprocess.run(
        command, env=environment, cwd=tree, capture_output=True, text=True, check=True
    )
    if not Path(done.stdout.strip()).is_relative_to(tree.resolve()):
        raise AssertionError(f"expected the code of {tree}, found {done.stdout.strip()}")
