"""Our Spark source, next to Spark's own JSON reader and to duckdb and polars in one process.

Everyone reads the same files, landed by target-singerlake, with the same types, and starts from
nothing but the address: planning is in the times.
"""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from benchmarks import environments, pipe, processor, spark_files
from benchmarks.environments import Skipped
from benchmarks.meter import measure
from benchmarks.pipe import Kind
from benchmarks.race import config
from benchmarks.result import Cell, Goal, Result, Table
from benchmarks.timing import Samples
from singerlake.format.keys import StreamKeys
from singerlake.lake import open_lake
from singerlake.spark import read_stream, session

TAP, STREAM = "tap-bench--peer", "orders"
FILES = 10
"""In each lake: enough for every core, and of a size that people land."""

ROUNDS = int(os.environ.get("BENCHMARK_ROUNDS", "5"))
SUM, MAX = "amount", "customer_id"
AGGREGATE, PARQUET = "aggregate", "parquet"
ALL, WANTED = "all", "wanted"

US, SPARK = "singerlake", "Spark's JSON reader"
PEERS = ("duckdb", "polars")
CORES = (1, 2)

Found = tuple[int, float, int]
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
        landed = [_land(pipe.SMALL), _land(pipe.WIDE)]
        spark = _session(max(CORES))
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
    tables += [_scaling(landed), skipping[0], planning[0]]
    goals += [*skipping[1], *planning[1]]
    notes += [
        f"Seconds are the best of {ROUNDS} rounds in turns, after one over the first file only. "
        f"The machine's load was {os.getloadavg()[0]:.1f} when this ended, on {os.cpu_count()} "
        "cores: if that is far more, seconds tell little, and ratios less than usual.",
        f"The aggregate is the number of rows, the sum of `{SUM}` and the maximum of `{MAX}`; all "
        "readers have to agree on it. The parquet output has all columns, snappy.",
        "Columns: *wanted* is `columns=[…]` for us, and for the others a schema that has no more "
        "than these two. *Of Spark's* is a part of what Spark's reader takes with the same "
        "columns. CPU is that of all processes, Java's compiler and garbage collector included.",
        f"duckdb and polars use all cores of the machine, as Spark (`local[{max(CORES)}]`) does.",
    ]
    if pipe.SCALE != 1:
        notes.append(f"BENCHMARK_SCALE={pipe.SCALE:g}: not the full number of records.")
    return Result(tables, goals, notes)


def _session(cores: int) -> SparkSession:
    return session("benchmarks", f"local[{cores}]", **{"spark.driver.memory": "3g"})


@dataclass(frozen=True)
class _Lake:
    """A landed stream, and the Spark type of its records."""

    kind: Kind
    root: Path
    files: tuple[str, ...]

    def first(self) -> _Lake:
        """Only the first file, to warm up."""
        return _Lake(self.kind, self.root, self.files[:1])

    def properties(self, columns: str) -> dict[str, Any]:
        every = self.kind.properties
        return every if columns == ALL else {name: every[name] for name in (SUM, MAX)}


def _land(kind: Kind) -> _Lake:
    messages = pipe.messages(kind, kind.records)
    folder = Path(pipe.folder().name, f"spark-{kind.name.replace(' ', '-')}")
    folder.mkdir()
    settings = config(
        folder,
        lake_root=folder / "lake",
        tap_id=TAP,
        max_file_records=-(-kind.records // FILES),
    )
    target = [sys.executable, "-m", "target_singerlake", "--config", settings]
    measure([["cat", str(messages.path)], target], 1)
    snapshot = open_lake(folder / "lake").stream(TAP, STREAM).snapshot()
    files = tuple(snapshot.files())
    if sum(file.records for file in files) != kind.records:
        raise AssertionError(f"{kind.name}: not every record has landed")
    keys = StreamKeys(TAP, STREAM)
    return _Lake(
        kind,
        folder / "lake",
        tuple(str(folder / "lake" / keys.under(file.path)) for file in files),
    )


def _ours(spark: SparkSession, lake: _Lake, columns: str) -> DataFrame:
    return read_stream(
        spark,
        lake.root,
        TAP,
        STREAM,
        columns=None if columns == ALL else (SUM, MAX),
        until=len(lake.files),
    )


def _theirs(spark: SparkSession, lake: _Lake, columns: str) -> DataFrame:
    """As docs/spark.md shows it for people without our package, and with the types given."""
    message = StructType(
        [
            StructField("type", StringType()),
            StructField("record", _spark_type(spark, lake.root, columns)),
        ]
    )
    messages = spark.read.schema(message).json(list(lake.files))
    return messages.where("type = 'RECORD'").select("record.*")


@functools.cache
def _spark_type(spark: SparkSession, root: Path, columns: str) -> StructType:
    """The types that our source gives the columns."""
    every = read_stream(spark, root, TAP, STREAM).schema
    return every if columns == ALL else StructType([every[SUM], every[MAX]])


def _aggregate(read: Callable[[], DataFrame]) -> Found:
    (row,) = read().agg(f.count("*"), f.sum(SUM), f.max(MAX)).collect()
    count, total, most = row
    return count, total, most


def _parquet(read: Callable[[], DataFrame], output: Path) -> None:
    read().write.mode("overwrite").parquet(str(output))


class _Peer:
    """A process that answers tasks; see `peers/one_process.py`."""

    def __init__(self, package: str, process: subprocess.Popen[str]) -> None:
        self.name = f"{package} {environments.version(package)}"
        self._process = process

    def do(self, lake: _Lake, columns: str, output: Path | None) -> Found | None:
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


def _require_equal(spark: SparkSession, lake: _Lake) -> None:
    """What is compared has to be the same: row for row, over the first file."""
    ours, theirs = (read(spark, lake.first(), ALL) for read in (_ours, _theirs))
    if ours.count() != theirs.count() or not ours.exceptAll(theirs).isEmpty():
        raise AssertionError(f"{lake.kind.name}: our rows are not those of Spark's reader")


def _round(
    spark: SparkSession, lake: _Lake, peers: Sequence[_Peer], costs: _Costs, number: int
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
        for reader, read in ((US, _ours), (SPARK, _theirs)):
            take(
                reader,
                columns,
                AGGREGATE,
                partial(_aggregate, partial(read, spark, place, columns)),
            )
    for reader, read in ((US, _ours), (SPARK, _theirs)):
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


def _table(lake: _Lake, peers: Sequence[str], costs: _Costs) -> Table:
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


def _goals(lake: _Lake, costs: _Costs) -> list[Goal]:
    """Like with like: the same columns."""
    name = lake.kind.name
    return [
        Goal(
            f"{name}, {what}, {columns} columns: time, of {SPARK}",
            costs.ratio((name, US, columns, what), (name, SPARK, columns, what)),
            1.0,
        )
        for what, columns in ((AGGREGATE, ALL), (AGGREGATE, WANTED), (PARQUET, ALL))
    ]


def _scaling(landed: Sequence[_Lake]) -> Table:
    """Sessions with one core and with two, in turns, in the same Java."""
    samples = Samples()
    for _ in range(max(ROUNDS // 2, 1)):
        for cores in CORES:
            spark = _session(cores)
            for lake in landed:
                for reader, read in ((US, _ours), (SPARK, _theirs)):
                    _aggregate(partial(read, spark, lake.first(), ALL))
                    work = partial(_aggregate, partial(read, spark, lake, ALL))
                    samples.time((lake.kind.name, reader, cores), work)
            spark.stop()
    rows: list[list[Cell]] = []
    for lake in landed:
        for reader in (US, SPARK):
            one, two = (samples.best((lake.kind.name, reader, cores)) for cores in CORES)
            rows.append([lake.kind.name, reader, one, two, one / two])
    columns = ("aggregate, all columns", "reader", "local[1], s", "local[2], s", "times as fast")
    return Table("One core and two", columns, rows, text_columns=2)
