"""`singerlake log`: what was committed, newest last."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from datetime import datetime
from functools import partial
from itertools import chain
from typing import Any

import click
from rich.table import Table

from singerlake.cli.console import (
    complain,
    moment,
    number,
    print_json_lines,
    print_table,
    size,
    table,
)
from singerlake.cli.failures import Failures
from singerlake.cli.name import shown
from singerlake.cli.options import (
    Span,
    command,
    json_option,
    since_option,
)
from singerlake.cli.progress import counted, progress
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.selection import chosen_streams
from singerlake.cli.show import committed, sequences
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import Bookmark, Lake, Selection, Snapshot, Stream
from singerlake.lake.parallel import Progress as OnProgress
from singerlake.lake.parallel import in_parallel, no_progress

LIMIT = 20

Commit = tuple[Snapshot, File]
Log = tuple[Snapshot, list[Commit]]
Seen = dict[StreamKeys, Bookmark]
"""Where the log of each stream was last seen to end."""


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
    commits = [commit for _, some in logs for commit in some]
    newest = _in_order(commits)[-(limit or len(commits)) :]
    _print(newest, _table(steady=follow), as_json)
    _note_listings([snapshot for snapshot, _ in logs])
    if not follow:
        failures.raise_first()
        return
    seen = {snapshot.keys: _end(snapshot) for snapshot, _ in logs}
    told = failures.tell_new(set())
    try:
        while True:
            pause(every)
            failures = Failures()
            logs = _logs(
                lake, tap, stream, partial(_new, seen=seen, runs=runs), failures, no_progress
            )
            seen |= {snapshot.keys: _end(snapshot) for snapshot, _ in logs}
            fresh = _in_order(commit for _, some in logs for commit in some)
            if fresh:
                _print(fresh, _table(header=False, steady=True), as_json)
            told = failures.tell_new(told)
    except KeyboardInterrupt:
        return


def pause(seconds: float) -> None:
    time.sleep(seconds)


def _logs(
    lake: Lake,
    tap: str | None,
    stream: str | None,
    read: Callable[[Snapshot], list[Commit]],
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
) -> list[Commit]:
    """The newest files. The log is read from its end, which is all that a few need."""
    lowest = since if isinstance(since, int) else 0
    last = snapshot.manifest.last_sequence
    wanted = window = last if limit is None else limit
    while True:
        start = max(lowest, last - window)
        found = [
            (snapshot, file)
            for file in snapshot.commits(Selection(since=start))
            if (not isinstance(since, datetime) or file.committed >= since)
            and (not runs or file.run_id in runs)
        ]
        if start == lowest or len(found) >= wanted:
            return found if limit is None else found[-limit:]
        window *= 2  # gaps leave fewer files than numbers


def _new(snapshot: Snapshot, seen: Seen, runs: tuple[str, ...]) -> list[Commit]:
    """What was committed since; of a log that was numbered anew, what comes from now on."""
    before = seen.get(snapshot.keys)
    if before is not None and before.log_id not in ("", snapshot.manifest.log_id):
        return []
    start = 0 if before is None else before.sequence
    if snapshot.manifest.last_sequence <= start:
        return []
    new = snapshot.commits(Selection(since=start))
    return [(snapshot, file) for file in new if not runs or file.run_id in runs]


def _end(snapshot: Snapshot) -> Bookmark:
    return Bookmark(snapshot.manifest.log_id, snapshot.manifest.last_sequence)


def _in_order(commits: Iterable[Commit]) -> list[Commit]:
    """By time, and each stream's in the order of its log: the clocks of its writers may differ."""
    latest: dict[StreamKeys, datetime] = {}
    timed = []
    for snapshot, file in commits:
        time = max(file.committed, latest.get(snapshot.keys, file.committed))
        latest[snapshot.keys] = time
        timed.append((time, (snapshot, file)))
    return [commit for _, commit in sorted(timed, key=lambda pair: pair[0])]


def _print(commits: list[Commit], made: Table, as_json: bool) -> None:
    if as_json:
        print_json_lines(_row(snapshot, file) for snapshot, file in commits)
        return
    for snapshot, file in commits:
        made.add_row(
            moment(committed(snapshot, file)) or "?",
            sequences(file),
            _version(snapshot, file),
            number(None if file.records < 0 else file.records),
            size(file.bytes),
            shown(f"{snapshot.keys.tap_id} {snapshot.keys.stream}"),
        )
    print_table(made, drop=("size", "ver", "records", "sequence"))


def _table(header: bool = True, steady: bool = False) -> Table:
    """`steady`: columns as wide whatever the rows hold, so that tables line up."""
    numbers = {"sequence": 8, "ver": 3, "records": 10, "size": 8}
    made = table(
        "committed (UTC)", *numbers, "stream", numbers=tuple(numbers), fixed=("committed (UTC)",)
    )
    made.show_header = header
    for column in made.columns if steady else ():
        column.min_width = {**numbers, "committed (UTC)": 19}.get(str(column.header))
    return made


def _version(snapshot: Snapshot, file: File) -> str:
    version = snapshot.manifest.versions.get(file.schema_hash)
    return "?" if version is None else f"v{version.version}"


def _row(snapshot: Snapshot, file: File) -> dict[str, Any]:
    version = snapshot.manifest.versions.get(file.schema_hash)
    return {
        "committed": committed(snapshot, file),
        "tap_id": snapshot.keys.tap_id,
        "stream": snapshot.keys.stream,
        "first_sequence": file.lowest_sequence,
        "sequence": file.sequence,
        "version": None if version is None else version.version,
        "schema_hash": file.schema_hash,
        "records": None if file.records < 0 else file.records,
        "bytes": file.bytes,
        "writer_id": file.writer_id,
        "run_id": file.run_id,
        "path": file.path,
    }
