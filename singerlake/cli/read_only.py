"""`singerlake read-only`: nothing in the lake is changed until that is ended."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.root import Root, root_arguments
from singerlake.lake.status import Status
from singerlake.lake.write_guard import LOOK_EVERY


@command()
@root_arguments()
@click.option(
    "--reason", metavar="TEXT", default="", help="Why: everybody who is refused reads it."
)
@click.option("--off", is_flag=True, help="Let the lake be written again.")
@json_option
def read_only(root: Root, reason: str, off: bool, as_json: bool) -> None:
    """Refuse every change of a lake.

    Landing, put, writes of Spark, vacuum, purge, check --fix, rebuild --apply, forget --apply, pins
    and notes are refused (exit code 4) until --off; readers go on. For a move, a legal hold, a
    restore. Writers at work look every five minutes: what they have begun may still be committed
    until then. Programs of before this setting do not know it, and keep it.

    \b
    Examples:
      singerlake read-only ./lake --reason "moving to s3://new/lake until noon"
      singerlake read-only s3://bucket/lake
      singerlake read-only s3://bucket/lake --off
    """
    if off and reason:
        raise click.UsageError("--reason is for a lake that is set read-only, not with --off")
    lake = root.lake()
    status = lake.set_writable() if off else lake.set_read_only(reason)
    if as_json:
        print_json({"root": lake.store.url, **as_json_of(status)})
    elif off:
        say(shown(lake.store.url, style="bold"), " may be written again")
    else:
        by = datetime.now(timezone.utc) + timedelta(seconds=LOOK_EVERY)
        say(shown(lake.store.url, style="bold"), f" is {status.name} from now on")
        say(f"[dim]Writers at work notice by {by:%H:%M} UTC: wait until then.[/]")


def as_json_of(status: Status) -> dict[str, Any]:
    return {"status": status.name or None, "status_reason": status.reason or None}


def say_status(status: Status) -> None:
    """One line where the lake may not be written."""
    if status.is_read_only:
        told = shown(str(status), style="yellow")
        say("[yellow]The lake is [/]", told, "[yellow]: nothing in it may be changed.[/]")
