"""The group itself."""

from __future__ import annotations

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import POINTER

TABLE = {
    "list": "List events that a backend refused.",
    "resend": "Send refused events again.",
}


@click.group(cls=LazyGroup, table=TABLE, package="singerlake.cli.lineage.dead", epilog=POINTER)
def dead() -> None:
    """Look after dead letters.

    An event that a backend refused for good (400, 413, 422), or that was skipped, is kept here
    until it is sent again.

    \b
    Examples:
      singerlake lineage dead list --data /var/lib/lineage
      singerlake lineage dead resend --data /var/lib/lineage
    """
