"""The options of `lineage proxy`: how to reach backends, what to validate, how much to keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from singerlake.cli.options import Span

Command = Callable[..., Any]

LIMITS = ("retention_hours", "retention_bytes", "partition_hours", "partition_bytes")

_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_BYTES = click.IntRange(min=1)


def _all(command: Command, *options: Callable[[Command], Command]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def reach_options(command: Command) -> Command:
    return _all(
        command,
        click.option(
            "--api-key-file",
            type=_FILE,
            metavar="FILE",
            help="The API key of HTTP backends, sent as a bearer token; or put the key itself into "
            "$SINGERLAKE_LINEAGE_API_KEY or $OPENLINEAGE_API_KEY.",
        ),
        click.option(
            "--ca",
            type=_FILE,
            metavar="FILE",
            help="Certificates to trust instead of the system's, in PEM.",
        ),
        click.option(
            "--client-certificate",
            type=_FILE,
            metavar="FILE",
            help="Who we are to HTTPS backends, in PEM.",
        ),
        click.option(
            "--client-key",
            type=_FILE,
            metavar="FILE",
            help="The client certificate's key, if another file holds it.",
        ),
        click.option(
            "--send-seconds",
            type=Span("seconds", min_open=True),
            default=30.0,
            show_default=True,
            metavar="SECONDS",
            help="How long a backend may take to answer, before the event is sent again.",
        ),
        click.option(
            "--kafka",
            multiple=True,
            metavar="KEY=VALUE",
            help="A setting of librdkafka. Example: --kafka security.protocol=ssl",
        ),
    )


def limit_options(command: Command) -> Command:
    return _all(
        command,
        click.option(
            "--retention-hours",
            type=Span("hours", min_open=True),
            default=168.0,
            show_default=True,
            metavar="HOURS",
            help="Drop unsent events that are older, but only while sends fail.",
        ),
        click.option(
            "--retention-bytes",
            type=_BYTES,
            default=1_000_000_000,
            show_default=True,
            metavar="BYTES",
            help="Drop the oldest events where all take up more on the disk.",
        ),
        click.option(
            "--partition-hours",
            type=Span("hours", min_open=True),
            default=1.0,
            show_default=True,
            metavar="HOURS",
            help="Begin a new file after this time.",
        ),
        click.option(
            "--partition-bytes",
            type=_BYTES,
            default=50_000_000,
            show_default=True,
            metavar="BYTES",
            help="Begin a new file after so many bytes. Files are deleted whole.",
        ),
    )


facets_option = click.option(
    "--facets",
    type=click.Choice(["run", "job", "dataset", "input", "output", "none"]),
    multiple=True,
    default=("run", "job", "dataset", "input", "output"),
    metavar="GROUP",
    help="Which groups of facets to validate: run, job, dataset, input, output, or none "
    "(repeatable; all by default).",
)

spec_option = click.option(
    "--spec-dir",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    help="OpenLineage's own schema files, instead of those of the installed package.",
)


def validation_options(command: Command) -> Command:
    return _all(
        command,
        facets_option,
        spec_option,
        click.option(
            "--failed",
            default="both",
            show_default=True,
            metavar="HANDLER",
            help="Who gets events that break the spec: log, file (invalid.jsonl in --data), both, "
            "or package.module:name of your own.",
        ),
    )


def pairs(given: tuple[str, ...]) -> dict[str, str]:
    """What `KEY=VALUE` options were given."""
    found = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--kafka {key}: expected KEY=VALUE")
        found[key] = value
    return found
