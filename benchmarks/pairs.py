"""CPU time of this code next to that of another revision, in pairs: `--base REVISION`.

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
from dataclasses import dataclass
from pathlib import Path

import click

from benchmarks import landing, pipe, replay, start
from benchmarks.meter import measure
from benchmarks.race import Pipeline
from benchmarks.result import Cell, Result, Table

PAIRS = 11
NEW = Path(__file__).parent.parent
"""The code that is compared with the base: what this module belongs to."""

_CASES = Path(__file__).parent / "cases"


@dataclass(frozen=True)
class Case:
    """A command that both revisions know.

    `work` makes the pipeline, in a folder that is empty and thrown away; `base` is the folder of
    the old code, for what has to be prepared with it. User time of the command that is `measured`
    counts, or with `tells`, the seconds that it prints.
    """

    name: str
    work: Callable[[Path, Path], Pipeline]
    measured: int = 0
    tells: bool = False


def _landing(folder: Path, base: Path) -> Pipeline:
    return landing.ours(pipe.messages(pipe.SMALL, pipe.SMALL.records)).work(folder)


def _replay(folder: Path, base: Path) -> Pipeline:
    return [list(replay.tap(_lake(base))(folder))]


def _commits(folder: Path, base: Path) -> Pipeline:
    return [[sys.executable, str(_CASES / "commits.py"), str(folder / "lake")]]


def _spark(folder: Path, base: Path) -> Pipeline:
    script = str(_CASES / "spark_aggregate.py")
    return [[sys.executable, script, str(_lake(base)), landing.TAP, "orders"]]


def _landing_of(kind: pipe.Kind) -> Callable[[Path, Path], Pipeline]:
    return lambda folder, _: landing.ours(pipe.messages(kind, kind.records)).work(folder)


def _small_run(make: Callable[[Path], Pipeline]) -> Callable[[Path, Path], Pipeline]:
    return lambda folder, _: make(folder)


CASES = (
    Case("landing", _landing, measured=1),
    Case("wide", _landing_of(pipe.WIDE), measured=1),
    Case("many", _landing_of(pipe.MANY), measured=1),
    Case("start-target", _small_run(start.target), measured=1),
    Case("start-tap", _small_run(start.tap)),
    Case("start-ls", _small_run(start.ls)),
    Case("replay", _replay),
    Case("commits", _commits),
    Case("spark", _spark, tells=True),
)


def run(base: str, pairs: int = PAIRS, cases: Sequence[str] = ()) -> Result:
    rows: list[list[Cell]] = []
    with tempfile.TemporaryDirectory(prefix="singerlake-base-") as name:
        old = Path(name)
        _check_out(base, old)
        for tree in (old, NEW):
            _require_code_of(tree)
        for case in CASES:
            if not cases or case.name in cases:
                rows.append(_row(case, old, pairs))
    columns = ("case", "pairs", "old, CPU s", "new, CPU s", "new / old", "least", "most")
    notes = [
        "CPU is the command's user time; that of Spark is user and system time of all processes. "
        "`new / old` is the median of the pairs' ratios, the seconds are medians too. The "
        f"machine's load was {os.getloadavg()[0]:.1f} when this ended, on {os.cpu_count()} cores.",
    ]
    if pipe.SCALE != 1:
        notes.append(f"BENCHMARK_SCALE={pipe.SCALE:g}: not the full number of records.")
    return Result([Table(f"Next to {base}", columns, rows)], [], notes)


def _row(case: Case, old: Path, pairs: int) -> list[Cell]:
    found: dict[Path, list[float]] = {old: [], NEW: []}
    for tree in found:
        _seconds(case, tree, old)  # compiles the modules, and makes what the case needs
    for number in range(pairs):
        # Whoever is first meets the machine as the last pair left it: so they take turns at that.
        for tree in (old, NEW) if number % 2 else (NEW, old):
            found[tree].append(_seconds(case, tree, old))
        ratio = found[NEW][-1] / found[old][-1]
        print(f"  pair {number + 1}: {case.name}: {ratio:.3f}", file=sys.stderr, flush=True)
    ratios = [new / before for new, before in zip(found[NEW], found[old], strict=True)]
    return [
        case.name,
        pairs,
        statistics.median(found[old]),
        statistics.median(found[NEW]),
        statistics.median(ratios),
        min(ratios),
        max(ratios),
    ]


def _seconds(case: Case, tree: Path, base: Path) -> float:
    with tempfile.TemporaryDirectory(dir=pipe.folder().name) as name:
        folder, output = Path(name), Path(name, "output")
        cost = measure(case.work(folder, base), case.measured, output, _with_code_of(tree), tree)
        return float(output.read_text().split()[-1]) if case.tells else cost.user


@functools.cache
def _lake(base: Path) -> Path:
    """What both read, landed by the old code: the new one has to read that, and not the reverse."""
    folder = Path(pipe.folder().name, "landed-by-the-base")
    folder.mkdir()
    measure(_landing(folder, base), 1, environment=_with_code_of(base), folder=base)
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
