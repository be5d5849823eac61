"""`singerlake process dead redrive`."""

from __future__ import annotations

import click

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.process.dead.choice import chosen
from singerlake.cli.process.engine import engine_command, key_argument
from singerlake.processor import Engine


@engine_command
@key_argument
@click.argument("position", required=False, type=int)
def redrive(engine: Engine, key: str, position: int | None, as_json: bool) -> None:
    """Put dead letters back to the head of their key.

    All of the KEY, in their order, or the one at POSITION. They count as not delivered yet.

    \b
    Examples:
      singerlake process dead redrive tap-github--meltano/issues
    """
    positions = chosen(engine, key, position)
    for one in sorted(positions, reverse=True):  # the last one put to the head is the first
        engine.redrive(key, one)
    if as_json:
        print_json({"key": key, "redriven": positions})
    else:
        say(f"redriven {plural(len(positions), 'dead letter')}")
