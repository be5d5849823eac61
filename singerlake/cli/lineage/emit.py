"""`singerlake lineage emit`: events about what is in the lake, for those who missed them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from singerlake.cli.console import complain, plural, print_json, say
from singerlake.cli.extra import extra_module
from singerlake.cli.name import shown
from singerlake.cli.options import (
    Span,
    command,
    json_option,
    require_tap_with_stream,
    since_option,
)
from singerlake.cli.root import Root, root_arguments
from singerlake.errors import ConfigError
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.options import FeedOptions

PACKAGES = frozenset({"yaml"})
STDOUT = "-"


@command()
@root_arguments(optional=("tap", "stream"))
@since_option
@click.option("-f", "--follow", is_flag=True, help="Go on with what is committed from now on.")
@click.option(
    "--every",
    type=Span("seconds", min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --follow looks: one request for each stream.",
)
@click.option(
    "--state",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Begin behind what was sent before, and keep the position in FILE.",
)
@click.option(
    "--to",
    envvar="SINGERLAKE_LINEAGE",
    metavar="URL|FILE|-",
    help="A receiver, or an openlineage.yml; - prints the events. By default as "
    "$OPENLINEAGE_CONFIG or $OPENLINEAGE_URL says.",
)
@json_option
@click.pass_context
def emit(
    context: click.Context,
    root: Root,
    tap: str | None,
    stream: str | None,
    since: int | datetime | None,
    follow: bool,
    every: float,
    state: Path | None,
    to: str | None,
    as_json: bool,
) -> None:
    """Send OpenLineage events about commits and runs.

    Those of the lake at ROOT, of a TAP, or of a STREAM: for a lake that ran without lineage, after
    a receiver was away, or all the time, with --follow. A commit has the same run id whenever and
    by whomever it is reported, so sending again changes nothing.

    \b
    Examples:
      singerlake lineage emit ./lake --to http://127.0.0.1:8080
      singerlake lineage emit ./lake tap-github--meltano --since 2026-11-16
      singerlake lineage emit s3://bucket/lake --follow --state emitted.json
      singerlake lineage emit ./lake --to - | jq .eventType
    """
    require_tap_with_stream(tap, stream)
    if isinstance(since, int) and stream is None:
        raise click.UsageError("--since SEQUENCE needs a STREAM: each stream has its own numbers")
    lake = root.lake()
    sender, where = _sender(to)
    options = FeedOptions(poll_seconds=every, idle_seconds=every)
    feed = lake.feed(_position(state), tap and [tap], stream and [stream], options=options)
    module = _module("job.history")
    landings = module.Landings(lake, _module("job.context").from_environment(), since)
    emission = _module("emitter.emission").Emission(
        feed, landings, sender, _keeper(state), complain
    )
    if follow:
        for _ in emission.follow(every):
            pass
    done = emission.once()
    if as_json:
        print_json({"to": where, "events": done.events, "refused": done.refused})
    elif to != STDOUT:
        say(f"{plural(done.events, 'event')} sent to ", shown(where))
    context.exit(1 if done.failures or done.refused else 0)


def _module(name: str) -> Any:
    return extra_module(f"lineage.{name}", "lineage", PACKAGES)


def _sender(to: str | None) -> tuple[Callable[[bytes], None], str]:
    if to == STDOUT:
        return _print, "stdout"
    destination = _module("emitter.destination").find(to or "")
    if destination is None or not destination.sends:
        raise ConfigError(
            "nothing says where to send events: give --to URL, or set OPENLINEAGE_URL or "
            "OPENLINEAGE_CONFIG; `--to -` prints them"
        )
    return _module("emitter.sender").open_sender(destination), str(destination)


def _print(event: bytes) -> None:
    sys.stdout.write(event.decode() + "\n")
    sys.stdout.flush()


def _position(state: Path | None) -> Cursor | None:
    if state is None or not state.exists():
        return None
    try:
        return Cursor.decode(state.read_bytes(), str(state))
    except OSError as error:
        raise ConfigError(f"{state}: {error.strerror}") from None


def _keeper(state: Path | None) -> Callable[[Cursor], None]:
    def keep(cursor: Cursor) -> None:
        if state is not None:
            _replace(state, cursor.encode())

    return keep


def _replace(path: Path, data: bytes) -> None:
    """The whole file, or the one before: a crash leaves no half of it."""
    try:
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(file.name).replace(path)
    except OSError as error:
        raise ConfigError(f"--state {path} cannot be written: {error.strerror}") from None
