"""`singerlake lineage skip`: let the next event go unsent."""

from __future__ import annotations

from pathlib import Path

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.lineage.options import data_option, destination_option, lineage_module
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.errors import ConfigError


@command()
@data_option
@destination_option
@click.option(
    "--sequence",
    type=click.IntRange(min=1),
    metavar="N",
    help="The event to skip; the next to send by default.",
)
@json_option
def skip(folder: Path, destination: str | None, sequence: int | None, as_json: bool) -> None:
    """Let the next event go unsent.

    For an event that a backend answers with 500 for ever, and that holds all others. It goes to the
    dead letters, from which it can be sent again. A running proxy sees this before its next try.

    \b
    Examples:
      singerlake lineage skip --data /var/lib/lineage
      singerlake lineage skip --data /var/lib/lineage --destination http://marquez:5000
    """
    survey, dead = lineage_module("buffer.survey"), lineage_module("buffer.disk.dead")
    with survey.opened_state(folder) as state:
        checkpoints = state.checkpoints()
        name = destination or (next(iter(checkpoints)) if len(checkpoints) == 1 else None)
        if name not in checkpoints:
            raise ConfigError(
                f"expected one of the backends with --destination: {', '.join(sorted(checkpoints))}"
            )
        if sequence is None:
            head = survey.head_of(folder, checkpoints[name])
            if head is None:
                raise ConfigError(f"{name} has every event: there is nothing to skip")
            sequence = head.sequence
        elif sequence <= checkpoints[name]:
            raise ConfigError(f"{name} has event {sequence} already")
        dead.skip(state, name, sequence)
    if as_json:
        print_json({"destination": name, "sequence": sequence})
    else:
        say(f"event {sequence} goes to the dead letters of ", shown(name))
