"""`singerlake lineage dead resend`: send refused events again."""

from __future__ import annotations

from pathlib import Path

import click

from singerlake.cli.console import complain, plural, print_json, say
from singerlake.cli.lineage.options import data_option, destination_option, lineage_module
from singerlake.cli.options import command, json_option


@command()
@data_option
@destination_option
@click.argument("sequences", nargs=-1, type=click.IntRange(min=1), metavar="[EVENT]...")
@json_option
def resend(
    folder: Path, destination: str | None, sequences: tuple[int, ...], as_json: bool
) -> None:
    """Send refused events again.

    All of them, or those with these numbers. The proxy sends them when no fresh event waits; what
    is refused again stays a dead letter. Without a running proxy they are sent after its next
    start.

    \b
    Examples:
      singerlake lineage dead resend --data /var/lib/lineage
      singerlake lineage dead resend --data /var/lib/lineage 1017 1018
    """
    survey, dead = lineage_module("buffer.survey"), lineage_module("buffer.disk.dead")
    with survey.opened_state(folder) as state:
        count = dead.revive(state, destination, sequences or None)
    if as_json:
        print_json({"resend": count})
        return
    say(f"{plural(count, 'event')} will be sent again")
    if not lineage_module("buffer.disk.owner").is_held(folder):
        complain("no proxy works on this folder now", "Note")
