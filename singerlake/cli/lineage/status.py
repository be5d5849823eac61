"""`singerlake lineage status`: how far each backend is."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from singerlake.cli.console import number, print_json, print_table, say, size, table
from singerlake.cli.lineage.options import data_option, lineage_module
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option


@command()
@data_option
@json_option
def status(folder: Path, as_json: bool) -> None:
    """Show how far each backend is.

    Works while a proxy runs, and when none does. `head` is the next event to send, with the time it
    was received: an old head means that the backend does not take it (`lineage skip` lets it go).

    \b
    Examples:
      singerlake lineage status --data /var/lib/lineage
      singerlake lineage status --data /var/lib/lineage --json
    """
    found = lineage_module("buffer.survey").survey(folder)
    if as_json:
        print_json(_document(found))
        return
    say("proxy       ", shown(found.holder or "none works on this folder"))
    say(f"buffer      {number(found.partitions)} files, {size(found.bytes)}")
    say(f"last event  {number(found.last)}")
    if found.losses:
        say(f"[bold red]lost[/]        {number(found.lost)} events, with damaged files")
    made = table(
        "backend", "waiting", "sent", "dead", "dropped", "head", "received",
        numbers=("waiting", "sent", "dead", "dropped", "head"), fixed=("received",),
    )  # fmt: skip
    for one in found.destinations:
        made.add_row(
            shown(one.name),
            *map(number, (one.events, one.sent, one.dead, one.dropped)),
            number(one.head.sequence) if one.head else "",
            f"{_moment(one.head):%Y-%m-%d %H:%M:%S}" if one.head else "",
        )
    print_table(made)


def _moment(head: Any) -> datetime:
    return datetime.fromtimestamp(head.received / 1000, timezone.utc)


def _document(found: Any) -> dict[str, Any]:
    return {
        "folder": str(found.folder),
        "owner": found.holder or None,
        "last": found.last,
        "files": found.partitions,
        "bytes": found.bytes,
        "lost": found.lost,
        "losses": [gap._asdict() for gap in found.losses],
        "damaged": found.damaged,
        "destinations": [
            {
                "name": one.name,
                "checkpoint": one.checkpoint,
                "waiting": one.events,
                "bytes": one.bytes,
                "sent": one.sent,
                "dead": one.dead,
                "dropped": one.dropped,
                "head": one.head.sequence if one.head else None,
                "head_received": _moment(one.head) if one.head else None,
            }
            for one in found.destinations
        ],
    }
