"""Vacuum on Spark: the merges run on the executors, the driver commits them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial

from pyspark.sql import SparkSession

from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import vacuum as core
from singerlake.lake.parallel import Progress, no_progress
from singerlake.lake.vacuum import VacuumOptions, VacuumReport, Work
from singerlake.spark.failure import explained
from singerlake.spark.lend import share
from singerlake.spark.watch import watched
from singerlake.store import Store


def vacuum(
    spark: SparkSession,
    store: Store,
    keys: StreamKeys,
    options: VacuumOptions,
    *,
    dry_run: bool = False,
    progress: Progress = no_progress,
) -> VacuumReport:
    """Merge one stream's small files; see `singerlake.lake.vacuum`.

    A task that ran twice leaves a merged file that nobody names: `purge` removes it.
    """
    run = partial(_on_executors, spark)
    what = f"singerlake vacuum {keys.stream}"
    with explained(f"stream {keys.stream!r}"), watched(spark, what, progress):
        return core.vacuum(store, keys, options, dry_run=dry_run, run=run)


def _on_executors(
    spark: SparkSession, work: Work, groups: Iterable[tuple[File, ...]]
) -> Iterator[File]:
    """One task a group: each reads what a file of the target size is made of."""
    every = list(groups)
    share(spark)
    return iter(spark.sparkContext.parallelize(every, len(every)).map(work).collect())
