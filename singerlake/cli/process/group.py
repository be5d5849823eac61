"""`singerlake process`: its commands."""

from __future__ import annotations

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import POINTER

COMMANDS = {
    "cancel": "Cancel a scheduled event.",
    "check": "Find out whether any key is stuck.",
    "dead": "Look after dead letters.",
    "ls": "List keys, and how each stands.",
    "pause": "Hand out no more events of a key.",
    "resume": "Have a paused key go on.",
    "run": "Run a job on what is committed.",
    "scheduled": "List scheduled events.",
    "show": "Show one key and its next events.",
    "why": "Say why a key does not move.",
}


@click.group(cls=LazyGroup, table=COMMANDS, package="singerlake.cli.process", epilog=POINTER)
def process() -> None:
    """Run work per stream, in commit order.

    Events of a key are processed in order, one at a time, by whichever processor is free. The
    engine keeps them: a SQLite file on one machine, Redis or Valkey for several. The key of a
    stream is TAP/STREAM.

    \b
    Examples:
      singerlake process run ./lake --job vacuum
      singerlake process run s3://bucket/lake --engine redis://queue:6379 --job mymodule:on_commit
      singerlake process run ./lake -- ./on-commit.sh
      singerlake process why tap-github--meltano/issues
    """
