"""`singerlake events mark`: an event, by hand."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.events.database import database_option, open_waits
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option, time_option


@command()
@click.argument("name")
@click.option("--id", "post_id", metavar="TEXT", help="A mark with an id that came is a repeat.")
@time_option("--time", "When it happened (UTC); now by default.")
@click.option("--body", metavar="JSON", help="A JSON object, for those who match its content.")
@database_option
@json_option
def mark(
    name: str,
    post_id: str | None,
    time: datetime | None,
    body: str | None,
    database: str | None,
    as_json: bool,
) -> None:
    """Mark an event as arrived, by hand.

    The same as a post to `singerlake events serve`.

    \b
    Examples:
      singerlake events mark partner-file
      singerlake events mark partner-file --time 2026-03-03 --body '{"country": "DE"}'
    """
    is_new = open_waits(database).inbox().take(name, _parsed(body), post_id, time)
    if as_json:
        print_json({"event": name, "state": "received" if is_new else "repeat"})
    else:
        say("marked " if is_new else "a repeat of ", shown(name, style="bold"))


def _parsed(text: str | None) -> dict[str, Any]:
    try:
        body = {} if text is None else json.loads(text)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise click.BadParameter("expected a JSON object", param_hint="--body")
    return body
