"""`singerlake process check`: whether any key is stuck."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from singerlake.cli.console import print_json, say
from singerlake.cli.name import shown
from singerlake.cli.process.engine import engine_command
from singerlake.cli.process.why import explained
from singerlake.processor import Engine


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
    long: run it from cron.

    \b
    Examples:
      singerlake process check
      singerlake process check --oldest 600 --json
    """
    findings = list(_findings(engine, oldest))
    if as_json:
        print_json({"findings": findings})
    else:
        for finding in findings:
            say(f"[red]{finding['code']}[/] ", shown(f"{finding['key']}: {finding['detail']}"))
        say(f"{len(findings):,} findings" if findings else "every key moves")
    ctx.exit(1 if findings else 0)


def _findings(engine: Engine, oldest: float) -> Iterator[dict[str, Any]]:
    for state in engine.states():
        if state.stranded:
            yield {"code": "stranded", "key": state.key, "detail": explained(state)}
        elif state.status == "paused" and state.reason != "by hand":
            yield {"code": "stopped", "key": state.key, "detail": explained(state)}
    for letter in engine.dead():
        yield {"code": "dead-letter", "key": letter.key, "detail": letter.reason}
    age = engine.counts().oldest
    if age > oldest:
        yield {"code": "late", "key": "", "detail": f"the oldest ready event waits for {age:.0f} s"}
