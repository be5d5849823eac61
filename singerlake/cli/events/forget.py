"""`singerlake events forget`: how long posts and the status of waits are kept."""

from __future__ import annotations

from datetime import timedelta

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.events.database import database_option, open_waits
from singerlake.cli.options import command, json_option
from singerlake.errors import ConfigError
from singerlake.runtime import REAL
from singerlake.wait.window import parse_offset

KEPT = "90d"


@command()
@click.option("--older-than", default=KEPT, show_default=True, metavar="90d", help="How old.")
@database_option
@json_option
def forget(older_than: str, database: str | None, as_json: bool) -> None:
    """Remove posts and rows of waits that are old: for cron.

    What is still awaited stays. A wait that looks for an older post does not find it any more.

    \b
    Examples:
      singerlake events forget
      singerlake events forget --older-than 30d
    """
    seconds = parse_offset(older_than)
    if seconds <= 0:
        raise ConfigError(f"expected an age such as 90d or 12h, found {older_than!r}")
    try:
        before = REAL.now() - timedelta(seconds=seconds)
    except OverflowError:
        raise ConfigError(f"expected an age that a calendar holds, found {older_than!r}") from None
    waits = open_waits(database)
    rows, posts = waits.store().forget(before), waits.inbox().forget(before)
    if as_json:
        print_json({"rows": rows, "posts": posts})
    else:
        say(f"removed {rows:,} rows of waits and {posts:,} posts")
