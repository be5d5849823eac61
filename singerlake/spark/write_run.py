"""A write by Spark is a run: its document says whether the write was committed."""

from __future__ import annotations

import pyspark

from singerlake.format.run import Outcome
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.markers import Known
from singerlake.lake.runs import document_of, end, landed
from singerlake.spark.task_files import WriteJob


def end_run(
    job: WriteJob,
    since: Bookmark,
    outcome: Outcome | None = None,
    known: Known | None = None,
) -> None:
    """Write the document. Without an outcome, the log tells: all files are there, or none is."""
    options, ids = job.options, (job.options.run_id, job.writer_id)
    left = landed.found(job.store, options.keys, since, *ids)
    run = document_of(
        (options.tap, *ids),
        job.time,
        outcome or ("complete" if left.files else "failed"),
        {options.stream: (left, None)},
        spark=str(pyspark.__version__),
    )
    end(job.store, run, known=known)
