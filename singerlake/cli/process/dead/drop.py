"""`singerlake process dead drop`."""

from __future__ import annotations

import click

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.process.dead.choice import chosen
from singerlake.cli.process.engine import engine_command, key_argument
from singerlake.processor import Engine


@engine_command
@key_argument
@click.argument("position", required=False, type=int)
def drop(engine: Engine, key: str, position: int | None, as_json: bool) -> None:
    """Forget dead letters; their key goes on.

    All of the KEY, or the one at POSITION.

    \b
    Examples:
      singerlake process dead drop tap-github--meltano/issues 1795014430493996
    """
    positions = chosen(engine, key, position)
    for one in sorted(positions, reverse=True):  # the last one put to the head is the first
        engine.drop(key, one)
    if as_json:
        print_json({"key": key, "dropped": positions})
    else:
        say(f"dropped {plural(len(positions), 'dead letter')}")
