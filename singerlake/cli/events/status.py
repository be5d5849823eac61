"""`singerlake events status`: how waits stand."""

from __future__ import annotations

from dataclasses import asdict

import click

from singerlake.cli.console import moment, print_json, print_table, say, table
from singerlake.cli.events.database import database_option, open_waits
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option

LIMIT = 50
STYLES = {"received": "green", "missed": "red", "waiting": "yellow"}


@command()
@click.argument("wait", required=False)
@click.option("--missing", is_flag=True, help="Only what has not come.")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    metavar="N",
    help="The newest so many.",
)
@database_option
@json_option
def status(
    wait: str | None, missing: bool, limit: int, database: str | None, as_json: bool
) -> None:
    """Show which awaited events have come.

    A row for each event of each window, of all waits, or of those whose names begin with WAIT.

    \b
    Examples:
      singerlake events status
      singerlake events status morning --missing
      singerlake events status --json | jq '.events[] | select(.state == "missed")'
    """
    store, most = open_waits(database).store(), None if missing else limit
    rows = store.rows(limit=most) if wait is None else store.rows_under(wait, most)
    if missing:
        rows = [row for row in rows if row.state != "received"][-limit:]
    if as_json:
        print_json({"events": [asdict(row) for row in rows]})
        return
    if not rows:
        say("nothing is awaited" if wait is None else "nothing is awaited by that name")
        return
    made = table("wait", "event", "window", "state", "time", "deadline", "what")
    for row in rows:
        made.add_row(
            shown(row.wait),
            shown(row.name),
            shown(row.window),
            shown(f"{row.state}, late" if row.late else row.state, STYLES[row.state]),
            moment(row.last_receive_time),
            moment(row.timeout),
            shown(row.error or row.last_receive or row.msg),
        )
    print_table(made, drop=("deadline",))
