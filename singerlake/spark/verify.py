"""Verify: the core's check, its reading of files spread over the executors.

The driver lists the lake and holds every log against itself, as `check` does. Each executor reads
whole files, through the store, and sends back what is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain, islice

from pyspark.sql import SparkSession

from singerlake.lake import CheckReport, Finding, check
from singerlake.lake.check_stream import Examination, examine, in_threads
from singerlake.lake.checking import DEFAULT_TIMES
from singerlake.lake.lock import LockTimes
from singerlake.lake.parallel import Progress, no_progress
from singerlake.spark.failure import explained
from singerlake.spark.lend import share
from singerlake.spark.watch import watched
from singerlake.store import Store

BYTES_PER_TASK = 256 * 1024 * 1024
FILES_PER_TASK = 1000
FILES_PER_JOB = 200_000
"""As many files are held by the driver at once, whatever the lake's size."""


def verify(
    spark: SparkSession,
    store: Store,
    tap_id: str | None = None,
    stream: str | None = None,
    *,
    times: LockTimes = DEFAULT_TIMES,
    progress: Progress = no_progress,
) -> CheckReport:
    """Check the lake, one tap of it, or one stream of a tap, as `singerlake.check` does.

    `progress` is told of Spark's tasks. Mends nothing: `check(…, fix=True)` does that.
    """

    def on_executors(store: Store, work: Iterable[Examination]) -> Iterator[list[Finding]]:
        waiting = iter(work)
        while job := list(islice(waiting, FILES_PER_JOB)):
            yield from _run(spark, store, job, progress)

    return check(store, tap_id, stream, times=times, examine=on_executors)


def _run(
    spark: SparkSession, store: Store, work: list[Examination], progress: Progress
) -> Iterator[list[Finding]]:
    tasks = list(packed(work, max(1, spark.sparkContext.defaultParallelism)))
    share(spark)
    with explained("verify"), watched(spark, "singerlake verify", progress):
        found = spark.sparkContext.parallelize(tasks, len(tasks)).map(partial(_task, store))
        return chain.from_iterable(found.collect())


def _task(store: Store, work: list[Examination]) -> list[list[Finding]]:
    """On an executor. Where files are small it waits for the store, so it reads several at once."""
    if len(work) == 1:
        return [examine(store, work[0])]
    return list(in_threads(store, work))


def packed(work: list[Examination], parallelism: int) -> Iterator[list[Examination]]:
    """Files in groups of similar size: neither a task for each tiny file, nor one for all."""
    limit = min(BYTES_PER_TASK, sum(item.bytes for item in work) // (4 * parallelism) + 1)
    group: list[Examination] = []
    size = 0
    for item in work:
        if group and (size + item.bytes > limit or len(group) >= FILES_PER_TASK):
            yield group
            group, size = [], 0
        group.append(item)
        size += item.bytes
    if group:
        yield group
