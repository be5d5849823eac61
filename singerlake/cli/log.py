"""`singerlake log`: what was committed, newest last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import chain

import click

from singerlake.cli.console import (
    complain,
)
from singerlake.cli.failures import Failures
from singerlake.cli.log_line import Line, empty_table, in_order, print_lines
from singerlake.cli.options import (
    Span,
    command,
    json_option,
    since_option,
)
from singerlake.cli.progress import counted, progress
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.selection import chosen_streams
from singerlake.cli.show import committed
from singerlake.format.manifest import File
from singerlake.lake import Lake, Selection, Snapshot, Stream
from singerlake.lake.feed import position
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Failed, Renumbered
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import FeedOptions
from singerlake.lake.parallel import Progress as OnProgress
from singerlake.lake.parallel import in_parallel
from singerlake.runtime import Runtime

LIMIT = 20


Log = tuple[Snapshot, list[Line]]


@command()
@root_arguments(optional=("tap", "stream"))
@since_option
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Only of this run (repeatable).")
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help=f"The newest so many; {LIMIT} by default, or all --since, or all of a --run.",
)
@click.option("-f", "--follow", is_flag=True, help="Go on with what is committed from now on.")
@click.option(
    "--every",
    type=Span("seconds", min_open=True),
    default=5.0,
    show_default=True,
    metavar="SECONDS",
    help="How often --follow looks: one request for each stream.",
)
@json_option
def log(
    root: Root,
    tap: str | None,
    stream: str | None,
    since: int | datetime | None,
    runs: tuple[str, ...],
    limit: int | None,
    follow: bool,
    every: float,
    as_json: bool,
) -> None:
    """Show what was committed, newest last.

    A line for each file of the lake at ROOT, of a tap, or of a stream, as it was committed: a
    vacuum changes nothing here. --since with a time is about when they were committed. --json gives
    one object on a line, as they come. Ctrl-C ends --follow, which is no error. Exits with 3 where
    a log cannot be read; the others are shown all the same.

    \b
    Examples:
      singerlake log ./lake
      singerlake log s3://bucket/lake tap-github--meltano --since 2026-11-01
      singerlake log ./lake --stream orders --follow
      singerlake log ./lake --follow --json | jq .records
    """
    lake = root.lake()
    if limit is None and since is None and not runs:
        limit = LIMIT
    failures = Failures()
    with progress("reading logs") as bar:
        read = partial(_newest, since=since, limit=limit, runs=runs)
        logs = _logs(lake, tap, stream, read, failures, bar)
    lines = [line for _, some in logs for line in some]
    newest = in_order(lines)[-(limit or len(lines)) :]
    print_lines(newest, empty_table(steady=follow), as_json)
    snapshots = [snapshot for snapshot, _ in logs]
    _note_listings(snapshots)
    if not follow:
        failures.raise_first()
        return
    told = failures.tell_new(set())
    with suppress(KeyboardInterrupt):
        for fresh in _followed(lake, snapshots, tap, stream, every, told):
            wanted = [line for line in fresh if not runs or line.file.run_id in runs]
            if wanted:
                print_lines(in_order(wanted), empty_table(header=False, steady=True), as_json)


def pause(seconds: float) -> None:
    time.sleep(seconds)


class _Rounds(Runtime):
    """A clock that only waiting moves: each round asks for every stream."""

    def __init__(self) -> None:
        self._passed = 0.0

    def monotonic(self) -> float:
        return self._passed

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        pause(seconds)
        self._passed += seconds
        return woken.is_set()


def _followed(
    lake: Lake,
    read: Iterable[Snapshot],
    tap: str | None,
    stream: str | None,
    every: float,
    told: set[str],
) -> Iterator[list[Line]]:
    """What each round brings; of a log that was numbered anew, what comes from then on.

    Complains of what cannot be read, unless it was `told` already.
    """
    known = [snapshot for snapshot in read if not snapshot.by_listing]
    places = {(one.keys.tap_id, one.keys.stream): position.end_of(one) for one in known}
    options = FeedOptions(poll_seconds=every, idle_seconds=every)
    follower = Follower(lake.store, options, _Rounds())
    feed = lake.feed(Cursor(places), tap and [tap], stream and [stream], follower=follower)
    never = threading.Event()
    while True:
        follower.runtime.wait(never, every)
        lines: list[Line] = []
        anew: set[tuple[str, str]] = set()
        for event in feed.poll():
            if isinstance(event, Renumbered):
                anew.add((event.tap, event.stream))
            elif isinstance(event, Committed) and (event.tap, event.stream) not in anew:
                lines += _lines_of(event)
            elif isinstance(event, Failed) and (text := f"{event.kind}: {event.error}") not in told:
                complain(text)
        yield lines


def _lines_of(event: Committed) -> list[Line]:
    return [
        Line(event.tap, event.stream, file, event.versions.get(file.schema_hash), file.committed)
        for file in event.files
    ]


def _logs(
    lake: Lake,
    tap: str | None,
    stream: str | None,
    read: Callable[[Snapshot], list[Line]],
    failures: Failures,
    bar: OnProgress,
) -> list[Log]:
    """Of each stream that was asked for; one that cannot be read hides no other."""

    def log_of(one: Stream) -> list[Log]:
        with failures.collected(one.tap_id, one.name):
            snapshot = one.snapshot()
            return [(snapshot, read(snapshot))]
        return []

    streams = chosen_streams(lake, tap, stream, failures)
    return list(chain.from_iterable(counted(in_parallel(log_of, streams), len(streams), bar)))


def _note_listings(snapshots: Iterable[Snapshot]) -> None:
    names = [f"{one.keys.tap_id} {one.keys.stream}" for one in snapshots if one.by_listing]
    if names:
        complain(
            f"no manifest, so the order is a guess, and times and counts are unknown (`singerlake "
            f"rebuild` makes it): {', '.join(names)}",
            "Note",
        )


def _newest(
    snapshot: Snapshot, since: int | datetime | None, limit: int | None, runs: tuple[str, ...]
) -> list[Line]:
    """The newest files. The log is read from its end, which is all that a few need."""
    lowest = since if isinstance(since, int) else 0
    last = snapshot.manifest.last_sequence
    wanted = window = last if limit is None else limit
    while True:
        start = max(lowest, last - window)
        found = [
            _line(snapshot, file)
            for file in snapshot.commits(Selection(since=start))
            if (not isinstance(since, datetime) or file.committed >= since)
            and (not runs or file.run_id in runs)
        ]
        if start == lowest or len(found) >= wanted:
            return found if limit is None else found[-limit:]
        window *= 2  # gaps leave fewer files than numbers


def _line(snapshot: Snapshot, file: File) -> Line:
    keys, version = snapshot.keys, snapshot.manifest.versions.get(file.schema_hash)
    number = None if version is None else version.version
    return Line(keys.tap_id, keys.stream, file, number, committed(snapshot, file))
