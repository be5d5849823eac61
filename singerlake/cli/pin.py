"""`singerlake pin`: a name for the lake as it is now."""

from __future__ import annotations

from datetime import datetime

import click

from singerlake.cli.console import complain, plural, print_json, say
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option, until_option
from singerlake.cli.pins import as_json_of
from singerlake.cli.root import Root, root_arguments
from singerlake.format.pin import Pin


@command()
@root_arguments("name")
@until_option
@click.option("--by", metavar="TEXT", help="Who pins it; by default you, at this machine.")
@json_option
def pin(root: Root, name: str, until: datetime | None, by: str | None, as_json: bool) -> None:
    """Give the lake as it is now a name.

    Whoever reads `as of NAME` then gets this state of all streams, rows and columns, whatever is
    committed, merged or purged later. Nothing is copied. NAME is any text that no pin has; one that
    looks like a number or a time is read as pin:NAME.

    Streams are looked at one after the other. Runs that are open are named: what they commit later
    is not in the pin, so pin between runs where that matters.

    \b
    Examples:
      singerlake pin ./lake before-migration
      singerlake pin s3://bucket/lake audit-2026 --until 2027-01-01
      singerlake sql ./lake 'select count(*) from orders' --as-of before-migration
      singerlake project ./lake tap-github--meltano --out ./tables --as-of pin:before-migration
    """
    lake = root.lake(write=True)
    made = lake.pin(name, until, by)
    if as_json:
        print_json({"root": lake.store.url, "pin": as_json_of(made)})
    else:
        _print(made)


def _print(made: Pin) -> None:
    streams = sum(map(len, made.taps.values()))
    say(
        "pinned ",
        shown(made.name, style="bold"),
        f": {plural(streams, 'stream')} of {plural(len(made.taps), 'tap')}",
        "" if made.until is None else f", until {made.until:%Y-%m-%d %H:%M} UTC",
    )
    for run in made.runs:
        if run.outcome == "open":
            complain(
                f"run {run.run_id} of {run.tap_id}: what it commits from now on is not in the pin",
                "Open",
            )
