"""`singerlake process check`: whether any key is stuck."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command
from singerlake.cli.process.why import explained
from singerlake.processor import Engine
from singerlake.processor.engine.values import KeyState

BY_HAND = "by hand"


@engine_command
@click.option(
    "--oldest",
    type=click.FloatRange(min=0, min_open=True),
    default=3600.0,
    show_default=True,
    metavar="SECONDS",
    help="An event that waits for longer at the head of the line is a finding.",
)
@click.pass_context
def check(ctx: click.Context, engine: Engine, oldest: float, as_json: bool) -> None:
    """Find out whether any key is stuck.

    Exits with 1 where a key is stranded, stands still for somebody to look at it, or waits for too
    long: run it from cron. Keys that are paused by hand are no finding; they are counted.

    \b
    Examples:
      singerlake process check
      singerlake process check --oldest 600 --json
    """
    states = list(engine.states())
    paused = sum(_is_by_hand(state) for state in states)
    findings = [*_of_keys(states), *_of_engine(engine, oldest)]
    if as_json:
        print_json({"findings": findings, "paused_by_hand": paused})
    else:
        for finding in findings:
            say(f"[red]{finding['code']}[/] ", shown(f"{finding['key']}: {finding['detail']}"))
        say(_summary(len(findings), paused))
    ctx.exit(1 if findings else 0)


def _summary(findings: int, paused: int) -> str:
    if not findings and not paused:
        return "every key moves"
    found = plural(findings, "finding") if findings else "nothing to look at"
    if not paused:
        return found
    return f"{found}; {plural(paused, 'key')} {'is' if paused == 1 else 'are'} paused by hand"


def _is_by_hand(state: KeyState) -> bool:
    """Whether somebody knows that it stands still, and nothing else is wrong with it."""
    return state.status == "paused" and state.reason == BY_HAND and not state.stranded


def _of_keys(states: Iterable[KeyState]) -> Iterator[dict[str, Any]]:
    for state in states:
        if state.stranded:
            yield {"code": "stranded", "key": state.key, "detail": explained(state)}
        elif state.status == "paused" and not _is_by_hand(state):
            yield {"code": "stopped", "key": state.key, "detail": explained(state)}


def _of_engine(engine: Engine, oldest: float) -> Iterator[dict[str, Any]]:
    for letter in engine.dead():
        yield {"code": "dead-letter", "key": letter.key, "detail": letter.reason}
    age = engine.counts().oldest
    if age > oldest:
        yield {"code": "late", "key": "", "detail": f"the oldest ready event waits for {age:.0f} s"}
