"""`singerlake lineage dead list`: events that a backend refused."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import click

from singerlake.cli.console import number, print_json, print_table, table
from singerlake.cli.lineage.options import data_option, destination_option, lineage_module
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option


@command()
@data_option
@destination_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="So many at most.",
)
@click.option("--events", is_flag=True, help="With --json: the events themselves too.")
@json_option
def list(folder: Path, destination: str | None, limit: int, events: bool, as_json: bool) -> None:
    """List events that a backend refused.

    With the status and the reason that the backend gave.

    \b
    Examples:
      singerlake lineage dead list --data /var/lib/lineage
      singerlake lineage dead list --data /var/lib/lineage --events --json
    """
    survey, dead = lineage_module("buffer.survey"), lineage_module("buffer.disk.dead")
    with survey.opened_state(folder) as state:
        letters = dead.letters(state, destination, at_most=limit)
    if as_json:
        print_json({"letters": [_row(one, events) for one in letters]})
        return
    made = table("backend", "event", "when", "status", "reason", "again", numbers=("event",))
    for one in letters:
        made.add_row(
            shown(one.destination),
            number(one.sequence),
            f"{_when(one):%Y-%m-%d %H:%M:%S}",
            str(one.status or ""),
            shown(one.reason),
            "asked for" if one.again else "",
        )
    print_table(made, drop=("when",))


def _when(letter: Any) -> datetime:
    return datetime.fromtimestamp(letter.died / 1000, timezone.utc)


def _row(letter: Any, events: bool) -> dict[str, Any]:
    row = {
        "destination": letter.destination,
        "sequence": letter.sequence,
        "died": _when(letter),
        "status": letter.status,
        "reason": letter.reason,
        "again": bool(letter.again),
    }
    return row | {"event": letter.event.decode("utf-8", "replace")} if events else row
