"""`singerlake runs`: what ran, and how it ended."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import click

from singerlake.cli.console import moment, number, plural, print_json, print_table, say, table
from singerlake.cli.exit_codes import POINTER
from singerlake.cli.failures import Failures
from singerlake.cli.name import shown
from singerlake.cli.options import Span, apply_option, json_option
from singerlake.cli.place import in_place
from singerlake.cli.root import Root, reach_options, root_arguments
from singerlake.cli.storage_options import options_of
from singerlake.errors import ConfigError
from singerlake.format.run import OUTCOMES, Outcome
from singerlake.lake import Lake, Run
from singerlake.lake.identity import person
from singerlake.lake.runs import marking

LIMIT = 20
SHORT = 80
"""Characters of a reason that a table shows; --json has it whole."""

STYLES = {"complete": "green", "ended": "yellow", "open": "cyan"}
"""The other outcomes are red."""


class _ListByDefault(click.Group):
    """`runs ./lake` is `runs list ./lake`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        names = {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, args if args and args[0] in names else ["list", *args])


@click.group(cls=_ListByDefault, epilog=POINTER)
def runs() -> None:
    """List runs, and how they ended.

    `singerlake runs` lists, and so does `singerlake runs list`: its help has the options. A run is
    one process that lands one tap. An outcome is

    \b
      complete  the tap sent all that it set out to send
      ended     the input ended, and nothing shows that the tap had finished
      failed    the tap or the target failed
      stopped   a signal stopped the target
      open      the run has committed, and not ended yet
      lost      the run has committed, and nobody knows how it ended

    \b
    Examples:
      singerlake runs ./lake
      singerlake runs s3://bucket/lake tap-github--meltano --limit 5
      singerlake runs ./lake --json | jq '.runs[] | select(.outcome != "complete")'
      singerlake runs mark ./lake 01a1ec8d-898a-7135-a20f-8de0b54a112a failed --apply
    """


@runs.command("list", epilog=POINTER)
@root_arguments(optional=("tap",))
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    metavar="N",
    help="The newest so many.",
)
@click.option(
    "--lost-after",
    type=Span("hours"),
    default=24.0,
    show_default=True,
    metavar="HOURS",
    help="A run without a document is lost so long after its last commit.",
)
@json_option
def list_runs(root: Root, tap: str | None, limit: int, lost_after: float, as_json: bool) -> None:
    """List the runs of a lake, or of a tap, the newest last.

    Runs that left commits and no document are listed too, as open or lost: that takes a request
    for each stream.

    \b
    Examples:
      singerlake runs ./lake
      singerlake runs list ./lake tap-github--meltano --limit 5
    """
    lake = root.lake()
    failures = Failures()
    found: list[Run] = []
    for one in lake.taps() if tap is None else [lake.tap(tap)]:
        with failures.collected(one.tap_id, None):
            found += one.runs(open=True, limit=limit, lost_after=timedelta(hours=lost_after))
    newest = sorted(found, key=lambda run: run.ended)[-limit:]
    if as_json:
        print_json({"root": lake.store.url, "runs": [_as_json(run) for run in newest]})
    else:
        _print(newest)
    failures.raise_first()


def _print(found: Sequence[Run]) -> None:
    if not found:
        say("No runs.")
        return
    numbers = ("duration", "records", "streams")
    why = ("why",) if any(run.reason for run in found) else ()
    made = table(
        "begun (UTC)",
        "outcome",
        *numbers,
        "tap",
        "run",
        *why,
        numbers=numbers,
        fixed=("begun (UTC)", "outcome"),
    )
    for run in found:
        style = STYLES.get(run.outcome, "red")
        made.add_row(
            moment(run.begun),
            f"[{style}]{run.outcome}[/]",
            _duration(run.duration),
            number(run.records),
            number(len(run.streams)),
            shown(run.tap_id),
            shown(run.run_id),
            *(shown(run.reason[:SHORT]) for _ in why),
        )
    print_table(made, drop=("why", "streams", "duration", "records"))


def _duration(span: timedelta) -> str:
    if span < timedelta(minutes=1):
        return f"{span.total_seconds():.1f} s"
    seconds = round(span.total_seconds())
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02}:{seconds % 60:02}"


def _as_json(run: Run) -> dict[str, Any]:
    return {
        "tap_id": run.tap_id,
        "run_id": run.run_id,
        "writer_id": run.writer_id,
        "outcome": run.outcome,
        "reason": run.reason,
        "begun": run.begun,
        "ended": run.ended,
        "seconds": run.duration.total_seconds(),
        "exit_code": run.exit_code,
        "records": run.records,
        "bytes": run.bytes,
        "number": run.number or None,
        "document": run.document or None,
        "mark": None if run.mark is None else _fields(run.mark),
        "streams": {name: _fields(stream) for name, stream in run.streams.items()},
    }


def _fields(value: Any) -> dict[str, Any]:
    return {
        name: getattr(value, name) for name in value.__struct_fields__ if name != "schema_hashes"
    }


@runs.command("mark", epilog=POINTER)
@click.argument("words", nargs=-1, metavar="[ROOT] [TAP] RUN OUTCOME")
@reach_options
@click.option("--writer", metavar="WRITER", help="Which run, where several have this run id.")
@click.option("--reason", default="", metavar="TEXT", help="Why, for those who read it later.")
@click.option("--by", metavar="TEXT", help="Who says so; by default you, at this machine.")
@apply_option
@json_option
def mark(
    words: tuple[str, ...],
    storage_options: str | None,
    pairs: tuple[str, ...],
    writer: str | None,
    reason: str,
    by: str | None,
    apply: bool,
    as_json: bool,
) -> None:
    """Correct by hand how a run ended.

    RUN is the run's id, or the beginning of it. OUTCOME is complete, ended, failed or stopped. The
    run's document and a new row of the tap's run log say so from then on. Without --apply this only
    reports what would change. A run without a document cannot be corrected: it is never complete.

    \b
    Examples:
      singerlake runs mark ./lake 01a1ec8d-898a-7135-a20f-8de0b54a112a failed
      singerlake runs mark ./lake tap-github--meltano 01a1ec8d failed --reason "wrong key" --apply
    """
    outcome = next((one for one in OUTCOMES if words[-1:] == (one,)), None)
    if outcome is None or len(words) < 2:
        raise click.UsageError(f"expected RUN and one of {', '.join(OUTCOMES)} as the last words")
    run_id, placed = words[-2], in_place(words[:-2], ("tap",))
    lake = Root(str(placed["root"]), options_of(storage_options, pairs)).lake()
    found = _found(lake, placed["tap"], run_id, writer)
    if apply and found.outcome != outcome:
        marking.mark(
            lake.store, found.tap_id, found.document, outcome, by=by or person(), reason=reason
        )
    if as_json:
        print_json(
            {"applied": apply, "before": found.outcome, "outcome": outcome, "run": _as_json(found)}
        )
    else:
        _print_mark(found, outcome, apply)


def _print_mark(run: Run, outcome: Outcome, apply: bool) -> None:
    if run.outcome == outcome:
        say("run ", shown(run.run_id), f" is {outcome} already")
        return
    say("run ", shown(run.run_id), " of ", shown(run.tap_id), f": {run.outcome} → {outcome}")
    if not apply:
        say("Nothing was changed: this is what `runs mark --apply` would do.")


def _found(lake: Lake, tap: str | None, run_id: str, writer: str | None) -> Run:
    """The one run that is meant. Raises `ConfigError`."""
    taps = lake.taps() if tap is None else [lake.tap(tap)]
    every = [run for one in taps for run in one.runs(open=True)]
    exact = [run for run in every if run.run_id == run_id]
    chosen = exact or [run for run in every if run.run_id.startswith(run_id)]
    chosen = [run for run in chosen if writer in (None, run.writer_id)]
    if not chosen:
        raise ConfigError(f"{lake.store.url}: no run {run_id!r}; `singerlake runs` lists the runs")
    if len(chosen) > 1:
        told = ", ".join(f"{run.run_id} of {run.tap_id} by {run.writer_id}" for run in chosen[:5])
        raise ConfigError(
            f"{lake.store.url}: {plural(len(chosen), 'run')} begin with {run_id!r} ({told}); "
            "name the tap, the whole run id, or --writer"
        )
    run = chosen[0]
    if not run.document:
        raise ConfigError(
            f"{lake.store.url}: run {run.run_id!r} is {run.outcome}: it has no document, and so "
            "is never complete; run the tap again"
        )
    return run
