"""`singerlake events`: what is awaited, and what has come."""

from __future__ import annotations

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import POINTER

COMMANDS = {
    "forget": "Remove posts and rows of waits that are old.",
    "mark": "Mark an event as arrived, by hand.",
    "serve": "Take posts of events over HTTP.",
    "status": "Show which awaited events have come.",
    "watch": "Report events that did not come in time.",
}


@click.group(cls=LazyGroup, table=COMMANDS, package="singerlake.cli.events", epilog=POINTER)
def events() -> None:
    """Show what is awaited, and what has come.

    Posts and the status of waits are in a database: SQLite in your cache folder, or the one that
    --database or $SINGERLAKE_EVENTS_DATABASE names.

    \b
    Examples:
      singerlake events serve --listen 127.0.0.1:8080
      singerlake events mark partner-file
      singerlake events status
      singerlake events watch expectations.json
    """
