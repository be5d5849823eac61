"""`singerlake check`: is the lake what the spec says?"""

from __future__ import annotations

from dataclasses import replace

import click

from singerlake.cli.options import (
    Span,
    command,
    json_option,
    require_tap_with_stream,
)
from singerlake.cli.progress import progress
from singerlake.cli.report import print_report
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.selection import every_stream
from singerlake.cli.trace import tracing
from singerlake.lake import CheckReport, Level, LockTimes
from singerlake.lake import check as run_check


@command()
@root_arguments(optional=("tap", "stream"))
@click.option("--fix", is_flag=True, help="Mend what can be mended safely; deletes no records.")
@click.option(
    "--stale-after",
    type=Span("seconds"),
    default=LockTimes().stale_after,
    show_default=True,
    metavar="SECONDS",
    help="A lock that does not change for so long is stale.",
)
@click.option("--deep", is_flag=True, help="Read the bytes of files of any kind too.")
@json_option
@click.pass_context
def check(
    context: click.Context,
    root: Root,
    tap: str | None,
    stream: str | None,
    fix: bool,
    stale_after: float,
    deep: bool,
    as_json: bool,
) -> None:
    """Find out what is wrong with a lake.

    Reads every file at ROOT, and holds the lake against every promise of the format. Exits with 1
    where it finds an error or a crash's leftover. With --fix, orphan files are adopted (their
    records may then be there twice), stale locks are removed, and missing documents are made again;
    it exits with 1 if anything remains. Of the files of any kind that records name, it looks
    whether they are there; with --deep it also reads each of them and compares its hash.

    \b
    Examples:
      singerlake check ./lake
      singerlake check s3://bucket/lake tap-github--meltano issues
      singerlake check ./lake --fix
      singerlake check ./lake camera-1 photos --deep
      singerlake check ./lake --json | jq '.findings[].code'
    """
    require_tap_with_stream(tap, stream)
    lake = root.lake(write=fix)
    times = replace(LockTimes(), stale_after=stale_after)
    with (
        tracing(lake) as trace,
        trace.around("check", lambda: every_stream(lake, tap, stream)) as done,
        progress("checking") as bar,
    ):
        report = run_check(lake.store, tap, stream, fix=fix, times=times, progress=bar, deep=deep)
        done(report)
    print_report(report, _is_clean(report, fix), as_json)
    context.exit(0 if _is_clean(report, fix) else 1)


def _is_clean(report: CheckReport, fix: bool) -> bool:
    """After a fix only what could not be mended counts."""
    wrong = [found for found in report.findings if found.level is not Level.NOTE]
    return not any(not (fix and found.fixable) for found in wrong)
