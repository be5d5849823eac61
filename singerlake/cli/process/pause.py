"""`singerlake process pause`."""

from __future__ import annotations

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command, key_argument, state_as_json
from singerlake.processor import Engine


@engine_command
@key_argument
@click.option("--reason", default="by hand", show_default=True, help="What `why` says.")
def pause(engine: Engine, key: str, reason: str, as_json: bool) -> None:
    """Hand out no more events of a key.

    An event that is being processed goes on to its end. Events that are added wait.

    \b
    Examples:
      singerlake process pause tap-github--meltano/issues --reason 'the sink is moved'
    """
    engine.pause(key, reason)
    if as_json:
        print_json(state_as_json(engine.look(key)))
    else:
        say("paused ", shown(key))
