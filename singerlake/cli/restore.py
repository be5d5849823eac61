"""`singerlake restore`: what was put back from a backup, held against what is known of it."""

from __future__ import annotations

from dataclasses import asdict

import click

from singerlake.cli.console import number, plural, print_json, print_table, say, table
from singerlake.cli.name import shown
from singerlake.cli.options import (
    apply_option,
    command,
    json_option,
    require_tap_with_stream,
)
from singerlake.cli.progress import progress
from singerlake.cli.root import Root, root_arguments
from singerlake.lake.restore_report import Restored, RestoreReport
from singerlake.lake.restoring import restore as run_restore
from singerlake.store import DryRun

MEANINGS = {
    "missing_taps": "nothing of this tap is there; it is not expected any more",
    "documents": "is made whole again",
    "set_aside": "is a copy of a document that could not be read: take from it what people wrote",
    "began_anew": "goes on in a new log: bookmarks up to that number stay valid, later ones do not",
    "adopted": "was in no manifest, and is adopted",
    "recorded": "is in the manifest, and not there: its sequence number becomes a gap",
    "skipped": "is left out: it cannot be read",
    "unpinned": "the pin cannot be read there any more; `singerlake unpin` removes it",
}


@command()
@root_arguments(optional=("tap", "stream"))
@apply_option
@json_option
@click.pass_context
def restore(
    context: click.Context,
    root: Root,
    tap: str | None,
    stream: str | None,
    apply: bool,
    as_json: bool,
) -> None:
    """Have a lake agree with itself after a backup.

    Put back what you have, then run this. It holds the log of each stream at ROOT against its
    files, its marker in the catalogue, the runs of the tap, the pins, and the places of consumers.
    It lists what is missing, or newer than the log, and exits with 1 where something is. With
    --apply it adopts what is there, and begins a new log where the old one is shorter than what is
    proven, so that every consumer goes on, or notices. Catalogues and the lake document get what
    they lack of what is there. What is gone is not expected any more: that
    is also the way after something was deleted on purpose. A stream of which all agrees is left
    alone, and no Singer file is deleted. Safe beside writers at work.

    \b
    Examples:
      singerlake restore ./lake
      singerlake restore ./lake --apply
      singerlake restore s3://bucket/lake tap-github--meltano issues --apply
      singerlake restore ./lake --json | jq '.streams[] | select(.state != "whole")'
    """
    require_tap_with_stream(tap, stream)
    store = root.lake(write=apply).store
    with progress("holding files against logs") as bar:
        report = run_restore(store if apply else DryRun(store), tap, stream, bar)
    if as_json:
        print_json({"applied": apply, "agrees": report.agrees, **asdict(report)})
    else:
        _print(report, apply)
    context.exit(0 if apply or report.agrees else 1)


def _print(report: RestoreReport, apply: bool) -> None:
    numbers = ("log ends at", "newer files", "missing files")
    made = table("tap", "stream", "state", *numbers, numbers=numbers, fixed=("state",))
    for one in report.streams:
        made.add_row(shown(one.tap_id), shown(one.stream), _state(one), *_counts(one))
    if report.streams:
        print_table(made, drop=("missing files", "newer files", "log ends at"))
    for one in report.streams:
        for reason in one.reasons:
            say(shown(f"{one.tap_id} {one.stream}", style="yellow"), ": ", shown(reason))
    for name, meaning in MEANINGS.items():
        for what in getattr(report, name):
            say(f"[yellow]{name.replace('_', ' ')}[/]  ", shown(what), f": {meaning}")
    wrong = sum(one.state != "whole" for one in report.streams)
    say(f"{plural(len(report.streams), 'stream')}, {wrong} of which did not agree.")
    if not apply and not report.agrees:
        say("Nothing was changed: this is what `restore --apply` would do.")


def _state(one: Restored) -> str:
    return f"[{'green' if one.state == 'whole' else 'red'}]{one.state}[/]"


def _counts(one: Restored) -> tuple[str, str, str]:
    return number(one.last_sequence), number(one.newer_files), number(one.missing_files)
