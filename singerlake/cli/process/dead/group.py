"""`singerlake process dead`: its commands."""

from __future__ import annotations

import click

from singerlake.cli.commands import LazyGroup
from singerlake.cli.exit_codes import POINTER

COMMANDS = {
    "drop": "Forget dead letters; their key goes on.",
    "ls": "List dead letters.",
    "redrive": "Put dead letters back to the head of their key.",
}


@click.group(cls=LazyGroup, table=COMMANDS, package="singerlake.cli.process.dead", epilog=POINTER)
def dead() -> None:
    """Look after dead letters.

    Events that failed too often. Each holds its key, unless the processor skips them.

    \b
    Examples:
      singerlake process dead ls
      singerlake process dead redrive tap-github--meltano/issues
      singerlake process dead drop tap-github--meltano/issues 1795014430493996
    """
