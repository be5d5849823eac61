"""The group itself: what it is about, and the first line of each command's help."""

from __future__ import annotations

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import POINTER

TABLE = {
    "check": "Examine what a proxy holds.",
    "dead": "Look after dead letters.",
    "emit": "Send events about commits and runs.",
    "proxy": "Take events, keep them, send them on.",
    "show": "Show where a stream came from.",
    "skip": "Let the next event go unsent.",
    "status": "Show how far each backend is.",
    "validate": "Hold events against the spec.",
}


@click.group(cls=LazyGroup, table=TABLE, package="singerlake.cli.lineage", epilog=POINTER)
def lineage() -> None:
    """Trace what was made of what.

    `proxy` takes OpenLineage events over HTTP, keeps them on the local disk and sends them to a
    backend in order. `status`, `check`, `dead` and `skip` look after what a proxy holds. `emit`
    sends the lake's own events, and `show` shows what the lake knows by itself.

    \b
    Examples:
      singerlake lineage proxy --backend http://marquez:5000 --data /var/lib/lineage
      singerlake lineage status --data /var/lib/lineage
      singerlake lineage validate event.json
      singerlake lineage emit ./lake --to http://127.0.0.1:8080
    """
