"""`singerlake project`: streams as typed files, published whole."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from datetime import timedelta
from typing import Any, cast

import click
from rich.text import Text

from singerlake.cli.console import number, print_json, print_table, size, table
from singerlake.cli.failures import Failures
from singerlake.cli.jobs import (
    conf_option,
    master_option,
    spark_module,
    spark_session,
    spark_settings,
)
from singerlake.cli.name import shown
from singerlake.cli.options import Span, as_of_option, command, json_option
from singerlake.cli.progress import progress
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.storage_options import options_of_output
from singerlake.cli.trace import tracing
from singerlake.errors import UnknownStream
from singerlake.format.record_type import Numbers
from singerlake.format.run import OUTCOMES
from singerlake.lake.extent import COMPLETE, AsOf, require_streams
from singerlake.lake.replication import METHODS
from singerlake.projection.document import Settings
from singerlake.store import open_store

FORMATS = ("parquet", "csv", "avro", "orc", "json")


@command()
@root_arguments("tap", optional=("stream",), former="out", several=True)
@click.option(
    "--out",
    metavar="URL",
    help="Where to publish: a folder or any fsspec URL. The word after ROOT, if not given.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(FORMATS),
    default="parquet",
    show_default=True,
    help="What kind of files to write.",
)
@click.option(
    "--mode",
    type=click.Choice(["append", "current", "last_run"]),
    default="append",
    show_default=True,
    help="Every record, the latest of each key that is not deleted, or the last complete run.",
)
@click.option(
    "--replication-method",
    type=click.Choice(METHODS),
    help="How the tap sends the streams, for --mode current: by default as the lake knows it.",
)
@click.option(
    "--run-outcome",
    "run_outcomes",
    type=click.Choice(OUTCOMES),
    multiple=True,
    help="Take runs that ended so, in place of complete ones (repeatable).",
)
@as_of_option
@click.option(
    "--partition-by",
    multiple=True,
    metavar="COLUMN",
    help="A folder for each value; of times also COLUMN:year, :month, :day, :hour (repeatable).",
)
@click.option(
    "--sort-by",
    multiple=True,
    metavar="COLUMN",
    help="Sort by COLUMN, or COLUMN:desc (repeatable).",
)
@click.option(
    "--metadata",
    multiple=True,
    metavar="COLUMN",
    help="Add a column about the record, such as _time_extracted or _corrupt_record (repeatable).",
)
@click.option(
    "--numbers",
    type=click.Choice(["double", "decimal", "string"]),
    default="double",
    show_default=True,
    help="What a number without a declared precision becomes.",
)
@click.option(
    "--max-misfits",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Publish null for up to N values of a stream that do not fit their columns; more fail.",
)
@click.option("--failfast", is_flag=True, hidden=True, help="The same as --max-misfits 0.")
@click.option("--full", is_flag=True, help="Publish all records anew, in place of what is there.")
@click.option("--dry-run", is_flag=True, help="Only report what would be read.")
@click.option(
    "--grace",
    type=Span("hours"),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="Keep files of older versions and of died runs so long.",
)
@click.option(
    "--out-storage-options",
    envvar="SINGERLAKE_OUT_STORAGE_OPTIONS",
    metavar="JSON|@FILE",
    help="fsspec storage options of --out; those of ROOT by default, where both are of one kind.",
)
@master_option
@conf_option
@json_option
def project(
    root: Root,
    tap: str,
    stream: tuple[str, ...],
    out: str,
    file_format: str,
    mode: str,
    replication_method: str | None,
    run_outcomes: tuple[str, ...],
    as_of: AsOf | None,
    partition_by: tuple[str, ...],
    sort_by: tuple[str, ...],
    metadata: tuple[str, ...],
    numbers: str,
    max_misfits: int,
    failfast: bool,
    full: bool,
    dry_run: bool,
    grace: float,
    out_storage_options: str | None,
    master: str | None,
    conf: tuple[str, ...],
    as_json: bool,
) -> None:
    """Publish streams as typed files.

    Those of a TAP, or one STREAM, from the lake at ROOT to --out. Publishes what was committed
    since the last run, each record once; readers see a whole version, or the one before.
    `--mode current` is the stream as its source is now, `--mode last_run` what the newest complete
    run sent.

    \b
    Examples:
      singerlake project ./lake tap-github--meltano --out ./tables
      singerlake project s3://bucket/lake tap-github--meltano issues --out s3://bucket/tables \\
        --mode current --partition-by created_at:month --sort-by id
      singerlake project ./lake tap-github--meltano --out ./tables --dry-run
    """
    names = list(stream) or [one.name for one in root.lake().tap(tap).streams()]
    if not stream:
        require_streams(root.lake().store, tap, names, as_of)
    job = spark_module("project")
    settings = Settings(
        format=file_format,
        mode=mode,
        partition_by=partition_by,
        sort_by=sort_by,
        metadata=metadata,
        numbers=cast(Numbers, numbers),
    )
    spark = None if dry_run else spark_session("singerlake project", master, conf)
    case_sensitive = spark_settings(conf).get("spark.sql.caseSensitive", "false")
    out_options = options_of_output(root.url, root.options, out, out_storage_options)
    given = {
        "full": full,
        "dry_run": dry_run,
        "as_of": as_of,
        "replication_method": replication_method,
        "run_outcomes": run_outcomes or COMPLETE,
        "max_misfits": 0 if failfast else max_misfits,
        "grace": timedelta(hours=grace),
        "storage_options": root.options,
        "out_options": out_options,
        "case_sensitive": case_sensitive.lower() == "true",
    }
    done: list[dict[str, Any]] = []
    failures = Failures()
    with tracing(root.lake(), is_wanted=not dry_run) as trace:
        store = open_store(out, out_options)
        for name in names:
            with (
                failures.collected(tap, name),
                progress(f"projecting {name} (tasks)") as bar,
                suppress(*([] if stream else [UnknownStream])),  # never had a record
                trace.around("project", store, tap, name, settings) as report,
            ):
                result = job.project(
                    spark, root.url, out, tap, name, settings, progress=bar, **given
                )
                done.append(asdict(result))
                report(result)
    rows = [*done, *failures.rows]
    if as_json:
        print_json(rows)
    else:
        _print(rows)
    failures.raise_first()


def _print(rows: list[dict[str, Any]]) -> None:
    numbers = ("version", "raw files", "written", "size", "records", "misfits")
    made = table("stream", "status", *numbers, numbers=numbers, fixed=("status",))
    for row in rows:
        if row["status"] == "failed":
            made.add_row(shown(row["stream"]), Text("failed", style="red"))
            continue
        made.add_row(
            shown(row["stream"]),
            row["status"],
            str(row["version"]),
            number(row["raw_files"]),
            number(row["records"]),
            size(row["bytes"]),
            number(row["total_records"]),
            number(sum(row["total_misfits"].values())),
        )
    print_table(made, drop=("size", "raw files", "version", "written"))
