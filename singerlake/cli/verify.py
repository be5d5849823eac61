"""`singerlake verify`: `check` on many machines."""

from __future__ import annotations

from dataclasses import replace

import click

from singerlake.cli.jobs import conf_option, master_option, spark_module, spark_session
from singerlake.cli.options import (
    command,
    json_option,
    require_tap_with_stream,
)
from singerlake.cli.progress import progress
from singerlake.cli.report import print_report
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.selection import every_stream
from singerlake.cli.trace import tracing
from singerlake.lake import LockTimes


@command()
@root_arguments(optional=("tap", "stream"))
@click.option(
    "--stale-after",
    default=LockTimes().stale_after,
    show_default=True,
    metavar="SECONDS",
    help="A lock that does not change for so long is stale.",
)
@master_option
@conf_option
@json_option
@click.pass_context
def verify(
    context: click.Context,
    root: Root,
    tap: str | None,
    stream: str | None,
    stale_after: float,
    master: str | None,
    conf: tuple[str, ...],
    as_json: bool,
) -> None:
    """Check a lake on many machines.

    As `check` does, with the reading of files spread over Spark's executors. For lakes that one
    machine can't read in time. Exits with 1 where it finds an error or a crash's leftover. Mends
    nothing: that is `check --fix`.

    \b
    Examples:
      singerlake verify s3://bucket/lake --master spark://host:7077
      singerlake verify ./lake tap-github--meltano issues
    """
    require_tap_with_stream(tap, stream)
    lake = root.lake()
    job = spark_module("verify")
    times = replace(LockTimes(), stale_after=stale_after)
    spark = spark_session("singerlake verify", master, conf)
    with (
        tracing(lake) as trace,
        trace.around("check", lambda: every_stream(lake, tap, stream)) as done,
        progress("verifying (tasks)") as bar,
    ):
        report = job.verify(spark, lake.store, tap, stream, times=times, progress=bar)
        done(report)
    print_report(report, report.clean, as_json)
    context.exit(0 if report.clean else 1)
