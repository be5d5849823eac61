"""500 streams at once: a first run, and runs that change ten of them, on a disk and on S3.

The limit is `cat | igzip -1`, both on one core: where the scheduler parts them, igzip takes twice
the time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks import pipe, places, race
from benchmarks.meter import Cost, measure
from benchmarks.pipe import MANY, Messages
from benchmarks.places import TMPFS
from benchmarks.result import Cell, Goal, Result, Table
from singerlake.lake import open_lake
from tests.servers import run_seaweedfs

ROUNDS = 5
CHANGED = 10
RECORDS = 200
"""Of each stream that a later run changes."""

TAP = "tap-bench--many"
MOST_MEMORY = 200
OF_LIMIT = 0.10

FIRST, LATER, NOTHING, LIMIT = "first run", f"{CHANGED} change", "no record", "igzip -1, one core"


@dataclass(frozen=True)
class _Place:
    name: str
    root: str
    options: dict[str, Any]
    folder: Path
    of_limit: float | None = None


def run() -> Result:
    tables: list[Table] = []
    goals: list[Goal] = []
    messages = pipe.messages(MANY, MANY.records)
    with _places() as known:
        for place in known:
            limit = [_limit(messages, place.folder) for _ in range(ROUNDS)]
            found = _measure(place, messages)
            tables.append(_table(place, found, limit))
            start = min(cost.wall for cost in found[NOTHING])
            net = min(cost.wall for cost in found[FIRST]) - start
            peak = max(cost.peak_bytes for cost in found[FIRST]) / race.MEGA
            goals.append(Goal(f"{place.name}: peak memory, MB", peak, MOST_MEMORY))
            if place.of_limit is not None:
                ratio = min(cost.wall for cost in limit) / net
                name = f"{place.name}: rate, of {LIMIT}"
                goals.append(Goal(name, ratio, place.of_limit, at_least=True))
    notes = [
        f"Seconds are the best of {ROUNDS} rounds; `net` is without those of a run that sends "
        f"SCHEMA messages only. A later run sends all {MANY.streams} SCHEMA messages and "
        f"{RECORDS} records of each of {CHANGED} streams. The machine's load was "
        f"{os.getloadavg()[0]:.1f} when this ended, on {os.cpu_count()} cores.",
    ]
    return Result(tables, goals, notes)


def later(changed: int = CHANGED, number: int = 0) -> Path:
    """The messages of a later run, which changes so many streams."""
    path = Path(pipe.folder().name, f"many-later-{changed}-{number}.singer")
    names = pipe.names(MANY)[number * changed % MANY.streams :][:changed]
    with path.open("wb") as file:
        file.writelines(pipe.schemas(MANY))
        for name in names:
            file.writelines(islice(pipe.records_of(MANY, name), RECORDS))
    return path


def landing(folder: Path, source: Path, root: str, options: dict[str, Any]) -> race.Pipeline:
    more = {"storage_options": options} if options else {}
    config = race.config(folder, lake_root=root, tap_id=TAP, **more)
    command = [sys.executable, "-m", "target_singerlake", "--config", config]
    return [["cat", str(source)], command]


def _measure(place: _Place, messages: Messages) -> dict[str, list[Cost]]:
    found: dict[str, list[Cost]] = {NOTHING: [], FIRST: [], LATER: []}
    for number in range(ROUNDS):
        root = f"{place.root}-{number}"
        for what, source in (
            (FIRST, messages.path),
            (LATER, later(number=number)),
            (NOTHING, later(changed=0)),
        ):
            with pipe.new_folder() as folder:
                commands = landing(folder, source, root, place.options)
                cost = measure(commands, 1)
            found[what].append(cost)
            print(f"  {place.name}: {what}: {cost.wall:.2f} s", file=sys.stderr, flush=True)
        _require_all(root, place.options, messages.records + CHANGED * RECORDS)
    return found


def _require_all(root: str, options: dict[str, Any], sent: int) -> None:
    """What was measured has to be right: every record is in the lake."""
    streams = open_lake(root, **options).tap(TAP).streams()
    landed = sum(file.records for stream in streams for file in stream.snapshot().files())
    if landed != sent:
        raise AssertionError(f"{root}: {sent} records sent, {landed} landed")


def _limit(messages: Messages, folder: Path) -> Cost:
    commands = [["cat", str(messages.path)], [*race.igzip(), "-1", "-c"]]
    return measure(race.on_one_core(commands), 1, folder / "output")


def _table(place: _Place, found: dict[str, list[Cost]], limit: list[Cost]) -> Table:
    start = min(cost.wall for cost in found[NOTHING])
    rows: list[list[Cell]] = []
    for what, costs in found.items():
        wall = min(cost.wall for cost in costs)
        rows.append(
            [
                what,
                wall,
                None if what == NOTHING else wall - start,
                min(cost.processor for cost in costs),
                max(cost.peak_bytes for cost in costs) / race.MEGA,
            ]
        )
    wall, processor = min(c.wall for c in limit), min(c.processor for c in limit)
    rows.append([LIMIT, wall, wall, processor, None])
    columns = ("run", "seconds", "net, s", "CPU, s", "peak, MB")
    return Table(f"{MANY.records:,} records of {MANY.streams} streams, {place.name}", columns, rows)


@contextmanager
def _places() -> Iterator[list[_Place]]:
    with ExitStack() as stack:
        found = []
        for place in places.both():
            folder = Path(stack.enter_context(TemporaryDirectory(dir=place.folder)))
            least = OF_LIMIT if place.name == TMPFS else None
            name = f"local folder, {place.name}"
            found.append(_Place(name, str(folder / "lake"), {}, folder, least))
        server = stack.enter_context(run_seaweedfs())
        root, options = f"s3://{server.new_bucket()}/lake", server.storage_options()
        yield [*found, _Place("S3 (SeaweedFS)", root, options, found[0].folder)]
