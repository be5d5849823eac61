"""Watching a Spark job: how many of its tasks are done, told while it runs."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from singerlake.lake.parallel import Progress

EVERY = 0.5

_JAVA_IS_GONE = (Py4JError, OSError)
"""What a call to Java raises once its process has ended; the job's own call tells the user."""

_JOB_PROPERTIES = ("spark.jobGroup.id", "spark.job.description", "spark.job.interruptOnCancel")


@contextmanager
def watched(spark: SparkSession, what: str, progress: Progress) -> Iterator[None]:
    """Tell `progress` of the tasks of all jobs that this thread starts inside the block."""
    context = spark.sparkContext
    before = {name: context.getLocalProperty(name) for name in _JOB_PROPERTIES}
    group = f"singerlake-{uuid.uuid4().hex}"
    context.setJobGroup(group, what, interruptOnCancel=False)
    stop = threading.Event()

    def watch() -> None:
        with suppress(*_JAVA_IS_GONE):
            while not stop.wait(EVERY):
                done, total = _tasks(context, group)
                if total:
                    progress(done, total)

    watcher = threading.Thread(target=watch, name="singerlake-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        stop.set()
        watcher.join()
        with suppress(*_JAVA_IS_GONE):
            for name, value in before.items():
                context.setLocalProperty(name, value)  # type: ignore[arg-type]


def _tasks(context: SparkContext, group: str) -> tuple[int, int]:
    tracker = context.statusTracker()
    done = total = 0
    for job in tracker.getJobIdsForGroup(group):
        found = tracker.getJobInfo(job)
        for stage in found.stageIds if found else ():
            info = tracker.getStageInfo(stage)
            if info:
                done += info.numCompletedTasks
                total += info.numTasks
    return done, total
