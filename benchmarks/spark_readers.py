"""A landed stream, and how our Spark source and Spark's own JSON reader read it."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StringType, StructField, StructType

from benchmarks import pipe
from benchmarks.meter import measure
from benchmarks.pipe import Kind
from benchmarks.race import config
from singerlake.format.keys import StreamKeys
from singerlake.lake import open_lake
from singerlake.spark import read_stream, session

TAP, STREAM = "tap-bench--peer", "orders"
FILES = 10
"""In each lake: enough for every core, and of a size that people land."""

SUM, MAX = "amount", "customer_id"
ALL, WANTED = "all", "wanted"

US, SPARK = "singerlake", "Spark's JSON reader"
PARTITIONS = 2

Found = tuple[int, float, int]
Read = Callable[[SparkSession, "LandedLake", str], DataFrame]


def make_session(cores: int, **conf: str) -> SparkSession:
    return session("benchmarks", f"local[{cores}]", **{"spark.driver.memory": "3g"}, **conf)


@dataclass(frozen=True)
class LandedLake:
    """A landed stream, and the Spark type of its records."""

    kind: Kind
    root: Path
    files: tuple[str, ...]

    def first(self) -> LandedLake:
        """Only the first file, to warm up."""
        return LandedLake(self.kind, self.root, self.files[:1])

    def properties(self, columns: str) -> dict[str, Any]:
        every = self.kind.properties
        return every if columns == ALL else {name: every[name] for name in (SUM, MAX)}


def land(kind: Kind) -> LandedLake:
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
    return LandedLake(
        kind,
        folder / "lake",
        tuple(str(folder / "lake" / keys.under(file.path)) for file in files),
    )


def read_ours(spark: SparkSession, lake: LandedLake, columns: str) -> DataFrame:
    return read_stream(
        spark,
        lake.root,
        TAP,
        STREAM,
        columns=None if columns == ALL else (SUM, MAX),
        until=len(lake.files),
        minPartitions=PARTITIONS,
    )


def read_theirs(spark: SparkSession, lake: LandedLake, columns: str) -> DataFrame:
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


def aggregate(read: Callable[[], DataFrame]) -> Found:
    (row,) = read().agg(f.count("*"), f.sum(SUM), f.max(MAX)).collect()
    count, total, most = row
    return count, total, most
