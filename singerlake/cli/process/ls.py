"""`singerlake process ls`: keys, and how each stands."""

from __future__ import annotations

import click

from singerlake.cli.console import number, print_json_lines, print_table, say, table
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command, state_as_json
from singerlake.processor import Engine
from singerlake.processor.engine.values import KeyState


@engine_command
@click.option("--limit", type=click.IntRange(min=1), default=1000, help="At most so many keys.")
def ls(engine: Engine, limit: int, as_json: bool) -> None:
    """List keys, and how each stands.

    Those that have events, a holder, a pause or a value; of an idle key nothing is left.

    \b
    Examples:
      singerlake process ls
      singerlake process ls --engine redis://queue:6379/0 --json
    """
    states = [state for _, state in zip(range(limit), engine.states(), strict=False)]
    if as_json:
        print_json_lines(map(state_as_json, states))
        return
    made = table("key", "status", "waiting", "detail", numbers=("waiting",), fixed=("status",))
    for state in sorted(states, key=lambda one: one.key):
        made.add_row(shown(state.key), state.status, number(state.waiting), shown(_detail(state)))
    print_table(made, drop=("detail",))
    counts = engine.counts()
    say(
        f"{number(counts.ready)} ready, {number(counts.leased)} leased, "
        f"{number(counts.scheduled)} scheduled, {number(counts.dead)} dead"
    )


def _detail(state: KeyState) -> str:
    return state.holder or state.reason or state.error
