"""The group itself: what it is about, and the first line of each command's help."""

from __future__ import annotations

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import POINTER

TABLE: dict[str, str] = {
    "emit": "Send events about commits and runs.",
    "show": "Show where a stream came from.",
}


@click.group(cls=LazyGroup, table=TABLE, package="singerlake.cli.lineage", epilog=POINTER)
def lineage() -> None:
    """Trace what was made of what.

    `proxy` takes OpenLineage events over HTTP, keeps them on the local disk and sends them to a
    backend in order. The other commands look after the events that a proxy holds.

    \b
    Examples:
      singerlake lineage --help
    """
