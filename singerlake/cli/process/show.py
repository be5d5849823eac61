"""`singerlake process show`: one key and its next events."""

from __future__ import annotations

import json

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.process.engine import (
    engine_command,
    entry_as_json,
    key_argument,
    moment,
    plain,
    state_as_json,
)
from singerlake.cli.process.why import explained
from singerlake.processor import Engine


@engine_command
@key_argument
@click.option("--limit", type=click.IntRange(min=0), default=10, help="At most so many events.")
def show(engine: Engine, key: str, limit: int, as_json: bool) -> None:
    """Show one key and its next events.

    \b
    Examples:
      singerlake process show tap-github--meltano/issues --limit 3
    """
    state, entries = engine.look(key), engine.peek(key, limit) if limit else []
    if as_json:
        events = [entry_as_json(entry) for entry in entries]
        print_json({**state_as_json(state), "events": events})
        return
    say(shown(explained(state)))
    for entry in entries:
        value = json.dumps(plain(entry.value), ensure_ascii=False)
        say(f"{entry.position}  {moment(entry.added)}  ", shown(value[:200]))
    if state.waiting > len(entries):
        say(f"and {state.waiting - len(entries):,} more")
