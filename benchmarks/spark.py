"""Our Spark source, next to Spark's own JSON reader and to duckdb and polars in one process.

Everyone reads the same files, landed by target-singerlake, with the same types, and starts from
nothing but the address: planning is in the times.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks import environments, pipe, processor, spark_cores, spark_files
from benchmarks.environments import Skipped
from benchmarks.result import Cell, Goal, Result, Table
from benchmarks.spark_readers import (
    ALL,
    MAX,
    SPARK,
    SUM,
    US,
    WANTED,
    Found,
    LandedLake,
    aggregate,
    land,
    make_session,
    read_ours,
    read_theirs,
)
from benchmarks.timing import Samples

ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "5"))
AGGREGATE, PARQUET = "aggregate", "parquet"
CORES = max(spark_cores.CORES)
PEERS = ("duckdb", "polars")
TO_PARQUET = {pipe.SMALL: 1.0, pipe.WIDE: 0.9}

Case = tuple[str, str, str, str]
"""Kind, reader, columns, what is made of it."""


class _Costs:
    """Seconds, and seconds of processor, by case; the least count."""

    def __init__(self) -> None:
        self.wall = Samples()
        self._processor: dict[Case, float] = {}

    def take(self, case: Case, work: Callable[[], Found | None]) -> Found | None:
        before = processor.seconds()
        found = self.wall.time(case, work)
        after = processor.seconds()
        if before is not None and after is not None:
            spent = max(after - before, 0.01)
            self._processor[case] = min(spent, self._processor.get(case, spent))
        return found

    def ratio(self, case: Case, other: Case) -> float:
        return self.wall.best(case) / self.wall.best(other)

    def cells(self, case: Case, other: Case) -> list[Cell]:
        """Of a case: seconds, as part of another's, and the same of the processor."""
        if case not in self.wall:
            return [None] * 4
        spent, theirs = self._processor.get(case), self._processor.get(other)
        by_processor = spent / theirs if spent and theirs else None
        return [self.wall.best(case), self.ratio(case, other), spent, by_processor]


def run() -> Result:
    costs = _Costs()
    notes: list[str] = []
    tables, goals = [], []
    with ExitStack() as stack:
        peers = []
        for name in PEERS:
            try:
                peers.append(stack.enter_context(_peer(name)))
            except Skipped as error:
                notes.append(f"No comparison: {error}.")
        landed = [land(pipe.SMALL), land(pipe.WIDE)]
        spark = make_session(CORES)
        for lake in landed:
            _require_equal(spark, lake)
            for number in range(-1, ROUNDS):
                _round(spark, lake, peers, costs, number)
        for lake in landed:
            tables.append(_table(lake, [peer.name for peer in peers], costs))
            goals += _goals(lake, costs)
            ratio = costs.ratio(
                (lake.kind.name, US, WANTED, AGGREGATE), (lake.kind.name, SPARK, ALL, AGGREGATE)
            )
            notes.append(
                f"{lake.kind.name}, aggregate: ours with the wanted columns takes {ratio:.2f} of "
                "the time of Spark's reader with all."
            )
        skipping, planning = spark_files.opened(spark), spark_files.planning(spark)
        spark.stop()
    scaling = spark_cores.scaling(landed, ROUNDS)
    tables += [scaling[0], skipping[0], planning[0]]
    goals += [*scaling[1], *skipping[1], *planning[1]]
    notes += [
        f"Seconds are the best of {ROUNDS} rounds in turns, after one over the first file only. "
        f"The machine's load was {os.getloadavg()[0]:.1f} when this ended, on {os.cpu_count()} "
        "cores: if that is far more, seconds tell little, and ratios less than usual.",
        f"The aggregate is the number of rows, the sum of `{SUM}` and the maximum of `{MAX}`; all "
        "readers have to agree on it. The parquet output has all columns, snappy.",
        "Columns: *wanted* is `columns=[…]` for us, and for the others a schema that has no more "
        "than these two. *Of Spark's* is a part of what Spark's reader takes with the same "
        "columns. CPU is that of all processes, Java's compiler and garbage collector included.",
        f"duckdb and polars use all cores of the machine, as Spark (`local[{CORES}]`) does.",
    ]
    if pipe.SCALE != 1:
        notes.append(f"BENCHMARK_SCALE={pipe.SCALE:g}: not the full number of records.")
    return Result(tables, goals, notes)


def _parquet(read: Callable[[], DataFrame], output: Path) -> None:
    read().write.mode("overwrite").parquet(str(output))


class _Peer:
    """A process that answers tasks; see `peers/one_process.py`."""

    def __init__(self, package: str, process: subprocess.Popen[str]) -> None:
        self.name = f"{package} {environments.version(package)}"
        self._process = process

    def do(self, lake: LandedLake, columns: str, output: Path | None) -> Found | None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = {
            "files": lake.files,
            "properties": lake.properties(columns),
            "output": str(output) if output else None,
            "sum": SUM,
            "max": MAX,
        }
        print(json.dumps(task), file=self._process.stdin, flush=True)
        answer = json.loads(self._process.stdout.readline() or '{"failure": "it ended"}')
        if "failure" in answer:
            raise AssertionError(f"{self.name}: {answer['failure']}")
        found: Found | None = answer["found"] and tuple(answer["found"])
        return found


@contextmanager
def _peer(package: str) -> Iterator[_Peer]:
    python = environments.folder_of_commands(package) / "python"
    script = Path(__file__).parent / "peers" / "one_process.py"
    with subprocess.Popen(
        [str(python), str(script), package],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        yield _Peer(package, process)


def _require_equal(spark: SparkSession, lake: LandedLake) -> None:
    """What is compared has to be the same: row for row, over the first file."""
    ours, theirs = (read(spark, lake.first(), ALL) for read in (read_ours, read_theirs))
    if ours.count() != theirs.count() or not ours.exceptAll(theirs).isEmpty():
        raise AssertionError(f"{lake.kind.name}: our rows are not those of Spark's reader")


def _round(
    spark: SparkSession, lake: LandedLake, peers: Sequence[_Peer], costs: _Costs, number: int
) -> None:
    """Everything once, one after the other; round -1 is to warm up."""
    name, place = lake.kind.name, lake if number >= 0 else lake.first()
    output = Path(pipe.folder().name, "output.parquet")
    found: dict[Case, Found | None] = {}

    def take(reader: str, columns: str, what: str, work: Callable[[], Found | None]) -> None:
        case = name, reader, columns, what
        found[case] = costs.take(case, work) if number >= 0 else work()
        if output.is_dir():
            shutil.rmtree(output)
        output.unlink(missing_ok=True)
        if number >= 0:
            best = costs.wall.best(case)
            told = f"  {name}, round {number + 1}: {reader}, {what}, {columns}: {best:.2f} s"
            print(f"{told} at best", file=sys.stderr, flush=True)

    for columns in (ALL, WANTED):
        for reader, read in ((US, read_ours), (SPARK, read_theirs)):
            take(
                reader,
                columns,
                AGGREGATE,
                partial(aggregate, partial(read, spark, place, columns)),
            )
    for reader, read in ((US, read_ours), (SPARK, read_theirs)):
        take(reader, ALL, PARQUET, partial(_parquet, partial(read, spark, place, ALL), output))
    for peer in peers:
        take(peer.name, WANTED, AGGREGATE, partial(peer.do, place, WANTED, None))
        take(peer.name, ALL, PARQUET, partial(peer.do, place, ALL, output))
    _require_agreement({case: one for case, one in found.items() if one is not None})


def _require_agreement(found: dict[Case, Found]) -> None:
    first = next(iter(found.values()))
    for case, (count, total, most) in found.items():
        if (count, most) != (first[0], first[2]) or not math.isclose(total, first[1]):
            raise AssertionError(f"{case}: found {(count, total, most)}, others {first}")


def _table(lake: LandedLake, peers: Sequence[str], costs: _Costs) -> Table:
    name = lake.kind.name
    rows: list[list[Cell]] = []
    for reader, columns in itertools.product((US, SPARK, *peers), (ALL, WANTED)):
        row: list[Cell] = [reader, columns]
        for what in (AGGREGATE, PARQUET):
            row += costs.cells((name, reader, columns, what), (name, SPARK, columns, what))
        rows.append(row)
    headings = ("s", "of Spark's", "CPU, s", "of Spark's by CPU")
    size = sum(Path(file).stat().st_size for file in lake.files) / 1e6
    return Table(
        f"{lake.kind.records:,} {name} in {len(lake.files)} files, {size:.0f} MB",
        [
            "reader",
            "columns",
            *(f"{what}, {heading}" for what in (AGGREGATE, PARQUET) for heading in headings),
        ],
        rows,
        text_columns=2,
    )


def _goals(lake: LandedLake, costs: _Costs) -> list[Goal]:
    """Like with like: the same columns."""
    name = lake.kind.name
    return [
        Goal(
            f"{name}, {what}, {columns} columns: time, of {SPARK}",
            costs.ratio((name, US, columns, what), (name, SPARK, columns, what)),
            limit,
        )
        for what, columns, limit in (
            (AGGREGATE, ALL, 1.0),
            (AGGREGATE, WANTED, 0.6),
            (PARQUET, ALL, TO_PARQUET[lake.kind]),
        )
    ]
