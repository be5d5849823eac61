"""Reads of our Spark source and of Spark's own, on one core and on two."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial

from benchmarks import processor
from benchmarks.result import Cell, Goal, Table
from benchmarks.spark_readers import (
    ALL,
    PARTITIONS,
    SPARK,
    US,
    WANTED,
    LandedLake,
    Read,
    aggregate,
    make_session,
    read_ours,
    read_theirs,
)
from benchmarks.timing import Samples

CORES = (1, 2)
SCALING = 1.6
"""How many times as fast a second core has to make a read."""


def scaling(landed: Sequence[LandedLake], rounds: int) -> tuple[Table, list[Goal]]:
    """All processes on one core, then on two, in turns, in the same Java: each time in a session of
    its own, whose workers have read everything once, and with the same partitions."""
    samples = Samples()
    partitions = {"spark.sql.files.minPartitionNum": str(PARTITIONS)}
    for _, cores in itertools.product(range(max(rounds // 2, 1)), CORES):
        spark = make_session(cores, **partitions)
        with processor.pinned(cores):
            for lake, columns, (reader, read) in _readers(landed):
                work = partial(aggregate, partial(read, spark, lake, columns))
                work()
                for _ in range(2):
                    samples.time((lake.kind.name, reader, columns, cores), work)
        spark.stop()
    rows: list[list[Cell]] = []
    goals = []
    for lake, columns, (reader, _) in _readers(landed):
        case = lake.kind.name, reader, columns
        one, two = (samples.best((*case, cores)) for cores in CORES)
        rows.append([*case, one, two, one / two])
        if reader == US:
            name = f"{lake.kind.name}, aggregate, {columns} columns: times as fast on two cores"
            goals.append(Goal(name, one / two, SCALING, at_least=True))
    columns_of_table = (
        "aggregate", "reader", "columns", "one core, s", "two cores, s", "times as fast",
    )  # fmt: skip
    return Table("One core and two", columns_of_table, rows, text_columns=3), goals


def _readers(landed: Sequence[LandedLake]) -> Iterator[tuple[LandedLake, str, tuple[str, Read]]]:
    return itertools.product(landed, (ALL, WANTED), ((US, read_ours), (SPARK, read_theirs)))
