"""`singerlake process cancel`."""

from __future__ import annotations

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command
from singerlake.errors import ConfigError
from singerlake.processor import Engine


@engine_command
@click.argument("id")
def cancel(engine: Engine, id: str, as_json: bool) -> None:
    """Cancel a scheduled event.

    \b
    Examples:
      singerlake process cancel nightly-report
    """
    if not engine.cancel(id):
        raise ConfigError(
            f"no event {id!r} is scheduled; `singerlake process scheduled` lists those that are"
        )
    if as_json:
        print_json({"cancelled": id})
    else:
        say("cancelled ", shown(id))
