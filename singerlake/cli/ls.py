"""`singerlake ls`: what is in the lake."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import click
from rich.text import Text

from singerlake.cli.console import complain, moment, number, print_json, print_table, size, table
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.progress import counted, progress
from singerlake.cli.read_only import as_json_of, say_status
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.selection import Chosen, chosen
from singerlake.errors import DamageError, InputError, UnsupportedFormat
from singerlake.lake import Lake, Stream
from singerlake.lake.parallel import Progress as OnProgress
from singerlake.lake.parallel import in_parallel

COUNTS = ("files", "records", "bytes")

DAMAGED = 3
"""The exit code where some of the lake cannot be read."""


@command()
@root_arguments(optional=("tap", "stream"))
@json_option
@click.pass_context
def ls(
    context: click.Context,
    root: Root,
    tap: str | None,
    stream: str | None,
    as_json: bool,
) -> None:
    """List taps and streams.

    Of each in the lake at ROOT: its files, records, bytes, and last commit. Exits with 3 where a
    part of the lake cannot be read; the rest is listed all the same, with `?` for what is not
    known, and `5+` for a total of what is.

    \b
    Examples:
      singerlake ls ./lake
      singerlake ls s3://bucket/lake tap-github--meltano
      singerlake ls ./lake --stream orders
      singerlake ls ./lake --json | jq '.taps[].streams[].stream'
    """
    lake = root.lake()
    with progress("reading manifests") as bar:
        taps = _listed(lake, chosen(lake, tap, stream), bar)
        status = lake.status()
    if as_json:
        print_json({"root": lake.store.url, **as_json_of(status), "taps": taps})
    else:
        say_status(status)
        _print(taps)
    problems = [row["problem"] for row in _rows(taps) if "problem" in row]
    for problem in problems if not as_json else ():
        complain(problem, "Unreadable")
    if problems:
        context.exit(DAMAGED)


def _listed(lake: Lake, found: list[Chosen], bar: OnProgress) -> list[dict[str, Any]]:
    notes = lake.annotations()
    streams = [stream for one in found for stream in one.streams]
    rows = counted(in_parallel(_stream, streams), len(streams), bar)
    return [_tap(one, notes.get(one.tap.tap_id, {}), rows) for one in found]


def _tap(one: Chosen, notes: dict[str, Any], rows: Iterator[dict[str, Any]]) -> dict[str, Any]:
    streams = [next(rows) for _ in one.streams]
    commits: list[datetime] = [row["last_commit"] for row in streams if row["last_commit"]]
    problem = {} if one.problem is None else {"problem": str(one.problem)}
    return {
        "tap_id": one.tap.tap_id,
        "annotations": notes,
        **{name: _total(one, streams, name) for name in COUNTS},
        "last_commit": max(commits, default=None),
        "partial": bool(problem) or any("problem" in row for row in streams),
        **problem,
        "streams": streams,
    }


def _total(one: Chosen, streams: list[dict[str, Any]], name: str) -> int | None:
    """Of the streams whose count is known; None where there are others only."""
    known = [row[name] for row in streams if row[name] is not None]
    return sum(known) if known or not (streams or one.problem) else None


def _stream(stream: Stream) -> dict[str, Any]:
    row: dict[str, Any] = {"stream": stream.name, "versions": None, **dict.fromkeys(COUNTS)}
    row |= {"last_sequence": None, "last_commit": None}
    try:
        snapshot = stream.snapshot()
        newest = snapshot.newest_file()
    except (DamageError, InputError, UnsupportedFormat) as error:
        # What is in there nobody knows: zeros would say that there is nothing.
        return row | {"problem": str(error)}
    totals = snapshot.totals
    row |= {
        "versions": len(snapshot.versions),
        "files": totals.files,
        "records": totals.records,
        "bytes": totals.bytes,
        "last_sequence": snapshot.last_sequence,
        "last_commit": None if newest is None else newest.committed,
    }
    if snapshot.by_listing:
        problem = f"{stream.store.url}/{snapshot.keys.manifest}: missing; `singerlake rebuild`"
        return row | {"records": None, "last_commit": None, "problem": problem}
    return row


def _rows(taps: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for tap in taps:
        yield tap
        yield from tap["streams"]


def _print(taps: list[dict[str, Any]]) -> None:
    numbers = ("versions", "files", "records", "size")
    made = table("tap / stream", *numbers, "last commit (UTC)", numbers=numbers, fixed=_FIXED)
    for tap in taps:
        made.add_row(_heading(tap), "", *_counts(tap), style="bold")
        for row in tap["streams"]:
            name = shown(row["stream"], style="red" if "problem" in row else "")
            made.add_row(Text("  ").append_text(name), number(row["versions"]), *_counts(row))
    print_table(made, drop=("versions", "files", "size", *_FIXED))


_FIXED = ("last commit (UTC)",)


def _heading(tap: dict[str, Any]) -> Text:
    """The tap, and what people wrote about it."""
    notes = [tap["annotations"].get(name) for name in ("owner", "description")]
    told = ": ".join(str(note) for note in notes if note)
    heading = shown(tap["tap_id"])
    return heading.append("\n").append_text(shown(told, style="not bold dim")) if told else heading


def _counts(row: dict[str, Any]) -> tuple[str, ...]:
    """Of a stream or a tap. `5+`: some of the tap could not be read, so there may be more."""
    texts = number(row["files"]), number(row["records"]), size(row["bytes"])
    unknown = [any(one[name] is None for one in row.get("streams", ())) for name in COUNTS]
    counts = (
        f"{text}+" if more and text != "?" else text
        for text, more in zip(texts, unknown, strict=True)
    )
    return *counts, moment(row["last_commit"]) or ("?" if "problem" in row else "")
