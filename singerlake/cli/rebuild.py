"""`singerlake rebuild`: makes the metadata again from the files."""

from __future__ import annotations

from dataclasses import asdict

from singerlake.cli.console import plural, print_json, say
from singerlake.cli.name import shown
from singerlake.cli.options import (
    apply_option,
    command,
    json_option,
    require_tap_with_stream,
)
from singerlake.cli.progress import progress
from singerlake.cli.root import Root, root_arguments
from singerlake.lake import RebuildReport
from singerlake.lake import rebuild as run_rebuild
from singerlake.store import DryRun

MEANINGS = {
    "adopted": "was in no manifest, and is adopted",
    "gone": "is in the manifest, and not there: its sequence number becomes a gap",
    "changed": "is not what the manifest says, which is set right",
    "skipped": "is left out: it cannot be read",
    "renumbered": "gets new sequence numbers: bookmarks of its old log will be refused",
    "continued": "goes on in a new log: bookmarks up to that number stay valid, later ones do not",
    "unpinned": "the pin cannot be read there any more; `singerlake unpin` removes it",
    "missing": "is accepted as it is",
    "set_aside": "is a copy of a document that could not be read",
}


@command()
@root_arguments(optional=("tap", "stream"))
@apply_option
@json_option
def rebuild(root: Root, tap: str | None, stream: str | None, apply: bool, as_json: bool) -> None:
    """Make all metadata again, from the files.

    The manifests, catalogues and lake document at ROOT. Only reports what it would do, unless
    --apply is given; either way it reads every file. Deletes no Singer file, and keeps what people
    wrote in the lake document. Safe beside writers at work.

    \b
    Examples:
      singerlake rebuild ./lake
      singerlake rebuild ./lake --apply
      singerlake rebuild ./lake tap-github--meltano issues --apply
    """
    require_tap_with_stream(tap, stream)
    store = root.lake(write=apply).store
    with progress("rebuilding") as bar:
        report = run_rebuild(store if apply else DryRun(store), tap, stream, bar)
    if as_json:
        print_json({"applied": apply, **asdict(report)})
    else:
        _print(report, apply)


def _print(report: RebuildReport, apply: bool) -> None:
    for name, meaning in MEANINGS.items():
        for what in getattr(report, name):
            say(f"[yellow]{name.replace('_', ' ')}[/]  ", shown(what), f": {meaning}")
    say(
        f"{plural(report.taps, 'tap')}, {plural(report.streams, 'stream')}, "
        f"{plural(report.files, 'file')}, {plural(report.records, 'record')}"
    )
    if not apply:
        say("Nothing was changed: this is what `rebuild --apply` would do.")
