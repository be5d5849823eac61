"""`singerlake index follow`: keeps an index up to date."""

from __future__ import annotations

import signal
from contextlib import suppress
from typing import Any

import click

from singerlake.cli.console import complain, is_terminal, plural, print_json_lines, say
from singerlake.cli.index.place import index_module, index_option, open_storage
from singerlake.cli.options import Span, command, json_option
from singerlake.cli.root import Root, root_arguments
from singerlake.lake.feed.event import Failed
from singerlake.lake.feed.options import FeedOptions


@command()
@root_arguments()
@index_option
@click.option("--once", is_flag=True, help="Index what is new, then end.")
@click.option(
    "--every",
    type=Span("seconds", min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often a stream that changes is asked for; the others less often.",
)
@json_option
def follow(root: Root, index_url: str | None, once: bool, every: float, as_json: bool) -> None:
    """Keep an index up to date.

    Reads what is committed to the lake at ROOT, from where the index stands, until SIGTERM or
    Ctrl-C, which is no error. Kill it at any moment: each commit is indexed once. A stream that
    cannot be read is reported, and the others go on; with --once it exits with 3 then.

    \b
    Examples:
      singerlake index follow ./lake
      singerlake index follow s3://bucket/lake --index postgresql://host/index
      singerlake index follow ./lake --once --json
    """
    lake = root.lake()
    storage = open_storage(lake, index_url, create=True)
    options = FeedOptions(poll_seconds=every, idle_seconds=max(every, 60.0))
    ingester = index_module("ingester").Ingester(
        storage, lake, options=options, on_failure=complain_of
    )
    try:
        if once:
            done = ingester.poll()
            _report(done, as_json, always=True)
            if done.failures:
                click.get_current_context().exit(3)
            return
        signal.signal(signal.SIGTERM, lambda number, frame: ingester.close())
        with suppress(KeyboardInterrupt):
            ingester.run(lambda done: _report(done, as_json, always=False))
    finally:
        storage.close()


def _report(done: Any, as_json: bool, always: bool) -> None:
    if not always and not done.changes:
        return
    if as_json:
        counts = {"entries": done.entries, "changes": done.changes, "failures": done.failures}
        print_json_lines([counts])
    elif always or is_terminal():
        say(f"indexed {plural(done.entries, 'file')}")


def complain_of(event: Failed) -> None:
    """Report a stream that cannot be read."""
    where = " ".join(filter(None, (event.tap, event.stream)))
    complain(f"{where}: {event.kind}: {event.error}")
