"""`singerlake vacuum`: many small files become fewer large ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import click
from rich.text import Text

from singerlake.cli.console import (
    complain,
    number,
    plural,
    print_json,
    print_table,
    say,
    size,
    table,
)
from singerlake.cli.failures import Failures
from singerlake.cli.jobs import conf_option, master_option, spark_module, spark_session
from singerlake.cli.name import shown
from singerlake.cli.options import (
    Span,
    apply_option,
    command,
    json_option,
    require_tap_with_stream,
)
from singerlake.cli.progress import counted, progress
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.selection import chosen_streams
from singerlake.cli.trace import tracing
from singerlake.errors import UnknownStream
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import Lake, Snapshot, Stream, purging
from singerlake.lake import vacuum as core
from singerlake.lake.parallel import in_parallel
from singerlake.lake.vacuum import VacuumOptions, VacuumReport, Work

Job = Callable[[StreamKeys], VacuumReport]


@command()
@root_arguments(optional=("tap", "stream"))
@click.option(
    "--target-mb",
    type=click.IntRange(min=1),
    default=VacuumOptions().target_bytes // 1024**2,
    show_default=True,
    help="Merge files smaller than half of this into files of about this size.",
)
@click.option("--purge", is_flag=True, help="Remove files that were replaced before --grace.")
@apply_option
@click.option(
    "--grace",
    type=Span("hours"),
    default=purging.GRACE / timedelta(hours=1),
    show_default=True,
    metavar="HOURS",
    help="How long replaced files are kept, for readers that began before.",
)
@click.option("--here", is_flag=True, help="Merge in this process, without Spark.")
@master_option
@conf_option
@json_option
def vacuum(
    root: Root,
    tap: str | None,
    stream: str | None,
    target_mb: int,
    purge: bool,
    apply: bool,
    grace: float,
    here: bool,
    master: str | None,
    conf: tuple[str, ...],
    as_json: bool,
) -> None:
    """Merge small files.

    Those of each stream at ROOT, in one commit a stream. Only reports what it would do, unless
    --apply is given. Every reader sees the same lines in the same order as before, and every
    bookmark keeps its meaning. Replaced files are kept until --purge --apply removes them. Safe
    beside writers whatever the --grace, and beside readers that began within it. Warns of a grace
    of less than an hour.

    \b
    Examples:
      singerlake vacuum ./lake
      singerlake vacuum ./lake --apply --here
      singerlake vacuum s3://bucket/lake tap-github--meltano --apply --master spark://host:7077
      singerlake vacuum ./lake --purge --grace 24 --apply
    """
    require_tap_with_stream(tap, stream)
    lake = root.lake(write=apply)
    failures = Failures()
    every, skipped = _streams(lake, tap, stream, failures)
    if purge:
        window, gone = timedelta(hours=grace), list[str]()
        if window < purging.SHORTEST:
            complain(
                f"a grace of {grace:g} hours: readers that are at work now, a replay or a Spark "
                "job, fail with StaleSnapshot and have to begin again. No record is lost; give "
                "--grace 1 or more to spare them",
                "Careful",
            )
        with progress("purging") as bar:
            for keys in counted(every, len(every), bar):
                with failures.collected(keys.tap_id, keys.stream):
                    gone += purging.purge(lake.store, keys, window, dry_run=not apply)
        _print_purged(gone, skipped, failures, apply, as_json)
    else:
        options, reports = VacuumOptions(target_bytes=target_mb * 1024**2), list[VacuumReport]()
        job = _job(lake, options, apply, here, master, conf)
        with tracing(lake, apply) as trace:
            for keys in every:
                place = (keys.tap_id, keys.stream)
                with failures.collected(*place), trace.around("vacuum", *place) as done:
                    reports.append(job(keys))
                    done(reports[-1])
        _print_reports(reports, skipped, failures, apply, as_json)
    failures.raise_first()


def _streams(
    lake: Lake, tap: str | None, stream: str | None, failures: Failures
) -> tuple[list[StreamKeys], list[StreamKeys]]:
    """The streams that were asked for: those that have a log, and those whose log is missing."""

    def snapshot(one: Stream) -> Snapshot | None:
        # A stream of the catalogue that is not there has never had a record.
        with failures.collected(one.tap_id, one.name), suppress(UnknownStream):
            return one.snapshot()
        return None

    with progress("reading manifests") as bar:
        streams = chosen_streams(lake, tap, stream, failures)
        found = list(counted(in_parallel(snapshot, streams), len(streams), bar))
    logs = [one.keys for one in found if one is not None and one.log_id]
    return logs, [one.keys for one in found if one is not None and one.by_listing]


def _job(
    lake: Lake,
    options: VacuumOptions,
    apply: bool,
    here: bool,
    master: str | None,
    conf: tuple[str, ...],
) -> Job:
    if here or not apply:
        return lambda keys: _here(lake, keys, options, apply)
    module: Any = spark_module("vacuum")
    spark = spark_session("singerlake vacuum", master, conf)

    def on_spark(keys: StreamKeys) -> VacuumReport:
        with progress(f"merging {keys.stream} (tasks)") as bar:
            report: VacuumReport = module.vacuum(spark, lake.store, keys, options, progress=bar)
        return report

    return on_spark


def _here(lake: Lake, keys: StreamKeys, options: VacuumOptions, apply: bool) -> VacuumReport:
    with progress(f"merging {keys.stream} (files)") as bar:

        def run(work: Work, groups: Iterable[tuple[File, ...]]) -> Iterator[File]:
            every = list(groups)
            return counted(in_parallel(work, every), len(every), bar)

        return core.vacuum(lake.store, keys, options, dry_run=not apply, run=run)


def _print_reports(
    reports: list[VacuumReport],
    skipped: list[StreamKeys],
    failures: Failures,
    apply: bool,
    as_json: bool,
) -> None:
    if as_json:
        done = [{**asdict(report), "status": _status(report, apply)} for report in reports]
        print_json({"applied": apply, "streams": [*done, *_skipped(skipped), *failures.rows]})
        return
    numbers = ("files before", "files after", "merged", "size")
    made = table("tap", "stream", *numbers, numbers=numbers)
    for report in reports:
        made.add_row(
            shown(report.tap_id),
            shown(report.stream),
            number(report.files_before),
            number(report.files_after),
            number(report.merged_files),
            size(report.merged_bytes),
        )
    for row in failures.rows:
        stream = Text("(all)", style="dim") if row["stream"] is None else shown(row["stream"])
        made.add_row(shown(row["tap_id"]), stream, Text("failed", style="red"))
    print_table(made, drop=("size", "merged", "files before"))
    _print_skipped(skipped)
    if not apply:
        say("Nothing was changed: this is what `vacuum --apply` would do.")


def _skipped(streams: list[StreamKeys]) -> list[dict[str, str]]:
    return [{"tap_id": keys.tap_id, "stream": keys.stream, "status": "skipped"} for keys in streams]


def _print_skipped(streams: list[StreamKeys]) -> None:
    if streams:
        names = ", ".join(f"{keys.tap_id} {keys.stream}" for keys in streams)
        say(
            "[yellow]Skipped[/], for want of a manifest, which `singerlake rebuild` makes: ",
            shown(names),
        )


def _status(report: VacuumReport, apply: bool) -> str:
    if not report.merged_files:
        return "unchanged"
    return "merged" if apply else "planned"


def _print_purged(
    keys: list[str], skipped: list[StreamKeys], failures: Failures, apply: bool, as_json: bool
) -> None:
    if as_json:
        told = {"skipped": _skipped(skipped), "failed": failures.rows}
        print_json({"applied": apply, "removed": keys, **told})
        return
    for key in keys:
        say(shown(key))
    _print_skipped(skipped)
    if apply:
        say(f"{plural(len(keys), 'object')} removed.")
    else:
        say(f"{plural(len(keys), 'object')} to remove: `vacuum --purge --apply` does it.")
