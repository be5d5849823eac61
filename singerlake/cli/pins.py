"""`singerlake pins`: the states of the lake that have a name."""

from __future__ import annotations

from typing import Any

import click
import msgspec

from singerlake.cli.console import complain, moment, number, print_json, print_table, say, table
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.root import Root, root_arguments
from singerlake.errors import CorruptDocument
from singerlake.format.pin import Pin
from singerlake.lake import clock
from singerlake.lake import pins as lake_pins

DAMAGED = 3
"""The exit code where a pin cannot be read."""


@command()
@root_arguments()
@json_option
@click.pass_context
def pins(context: click.Context, root: Root, as_json: bool) -> None:
    """List the states that have a name.

    A pin that is `held` keeps what it reads from being deleted. One that has `expired` is past its
    time: it can be read as long as the records are there. Exits with 3 where a pin cannot be read;
    the others are listed all the same.

    \b
    Examples:
      singerlake pins ./lake
      singerlake pins ./lake --json | jq -r '.pins[] | select(.state == "expired") | .name'
    """
    store = root.lake().store
    found, damaged = [], {}
    for name, one in lake_pins.read_each(store):
        if isinstance(one, CorruptDocument):
            damaged[name] = str(one)
        else:
            found.append(one)
    if as_json:
        unread = [{"name": name, "problem": problem} for name, problem in damaged.items()]
        print_json({"root": store.url, "pins": [*map(as_json_of, found), *unread]})
    else:
        _print(found)
        for problem in damaged.values():
            complain(problem, "Unreadable")
    if damaged:
        context.exit(DAMAGED)


def as_json_of(pin: Pin) -> dict[str, Any]:
    """A pin for scripts."""
    return {
        "name": pin.name,
        "created": pin.created,
        "by": pin.by,
        "until": pin.until,
        "state": _state(pin),
        "taps": {
            tap: {stream: msgspec.to_builtins(place) for stream, place in streams.items()}
            for tap, streams in pin.taps.items()
        },
        "unended_runs": [msgspec.to_builtins(run) for run in pin.runs],
    }


def _state(pin: Pin) -> str:
    return "expired" if pin.has_expired(clock.now()) else "held"


def _print(found: list[Pin]) -> None:
    if not found:
        say("No pins.")
        return
    numbers = ("streams", "open runs")
    made = table(
        "name",
        "created (UTC)",
        "until (UTC)",
        "state",
        *numbers,
        "by",
        numbers=numbers,
        fixed=("created (UTC)", "until (UTC)", "state"),
    )
    for pin in found:
        state = _state(pin)
        made.add_row(
            shown(pin.name),
            moment(pin.created),
            moment(pin.until) or "for ever",
            f"[yellow]{state}[/]" if state == "expired" else f"[green]{state}[/]",
            number(sum(map(len, pin.taps.values()))),
            number(sum(run.outcome == "open" for run in pin.runs)),
            shown(pin.by),
        )
    print_table(made, drop=("open runs", "by", "streams", "created (UTC)"))
