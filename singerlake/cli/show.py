"""`singerlake show`: one stream, its versions, its arrivals and its newest files."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

import click
import msgspec

from singerlake.cli.console import moment, number, plural, print_json, print_table, say, size, table
from singerlake.cli.name import shown
from singerlake.cli.options import command, json_option
from singerlake.cli.progress import counted, progress
from singerlake.cli.read_only import as_json_of, say_status
from singerlake.cli.root import Root, root_arguments
from singerlake.cli.sparkline import BUCKETS, legend, sparkline
from singerlake.format.manifest import File, Totals
from singerlake.lake import Snapshot
from singerlake.lake.arrivals import Arrivals, arrivals
from singerlake.lake.provenance import committed_rows


@dataclass
class _Tally:
    """What is counted of a log as it passes: it may have a million files."""

    newest: deque[File]
    files: Counter[str] = field(default_factory=Counter)
    records: Counter[str] = field(default_factory=Counter)

    def passing(self, files: Iterable[File]) -> Iterator[File]:
        for file in files:
            self.newest.append(file)
            self.files[file.schema_hash] += 1
            self.records[file.schema_hash] += max(file.records, 0)
            yield file


@command()
@root_arguments("tap", "stream")
@click.option(
    "--limit",
    type=click.IntRange(min=0, max=sys.maxsize),
    default=10,
    show_default=True,
    help="Show so many of the newest files.",
)
@json_option
def show(root: Root, tap: str, stream: str, limit: int, as_json: bool) -> None:
    """Show one stream.

    Its versions, arrivals over time, and newest files. `log` lists all its files, `cat` its
    records, `diff` what changed between two versions.

    \b
    Examples:
      singerlake show ./lake tap-github--meltano issues
      singerlake show ./lake tap-github--meltano issues --limit 100
      SINGERLAKE_ROOT=./lake singerlake show tap-github--meltano issues --json
    """
    lake = root.lake()
    snapshot, status = lake.stream(tap, stream).snapshot(), lake.status()
    totals = snapshot.totals
    tally = _Tally(deque(maxlen=limit))
    with progress("reading the log") as bar:
        files = counted(tally.passing(snapshot.files()), totals.files, bar)
        found = arrivals(committed_rows(snapshot.store, snapshot.keys, files), BUCKETS)
    if as_json:
        print_json({**_as_json(snapshot, totals, tally, found), **as_json_of(status)})
    else:
        say_status(status)
        _print(snapshot, totals, tally, found)


def _as_json(snapshot: Snapshot, totals: Totals, tally: _Tally, found: Arrivals) -> dict[str, Any]:
    return {
        "tap_id": snapshot.keys.tap_id,
        "stream": snapshot.keys.stream,
        "log_id": snapshot.log_id,
        "last_sequence": snapshot.last_sequence,
        "files_total": totals.files,
        "records": None if snapshot.by_listing else totals.records,
        "bytes": totals.bytes,
        "versions": {
            key: {
                **msgspec.structs.asdict(version),
                "files": tally.files[key],
                "records": tally.records[key],
            }
            for key, version in snapshot.versions.items()
        },
        "arrivals": None
        if snapshot.by_listing
        else {**asdict(found), "width": found.width.total_seconds()},
        "files": [_file(snapshot, file) for file in tally.newest],
    }


def _file(snapshot: Snapshot, file: File) -> dict[str, Any]:
    told = msgspec.structs.asdict(file)
    if snapshot.by_listing:
        told |= dict.fromkeys(("records", "raw_bytes", "checksum", "committed"))
    return told


def committed(snapshot: Snapshot, file: File) -> datetime | None:
    """When it was; None where only the manifest could tell, and it is missing."""
    return None if snapshot.by_listing else file.committed


def _print(snapshot: Snapshot, totals: Totals, tally: _Tally, found: Arrivals) -> None:
    keys = snapshot.keys
    say(shown(keys.stream, style="bold"), " of ", shown(keys.tap_id, style="bold"))
    records = "unknown records" if snapshot.by_listing else plural(totals.records, "record")
    say(f"{plural(totals.files, 'file')}, {records}, {size(totals.bytes)}")
    if snapshot.by_listing:
        say("[red]There is no manifest:[/] this is a listing. `singerlake rebuild` makes one.")
    say()
    _print_versions(snapshot, tally)
    if any(found.records):
        say()
        say(shown(sparkline(found.records), style="cyan"))
        say(f"[dim]{legend(found)}[/]")
    if tally.newest:
        say()
        _print_files(snapshot, tally.newest)
    if totals.files > len(tally.newest):
        older = plural(totals.files - len(tally.newest), "older file")
        say(f"[dim]{older}: see `singerlake log`[/]")


def _print_versions(snapshot: Snapshot, tally: _Tally) -> None:
    numbers = ("files", "records")
    times = ("first seen (UTC)",)
    made = table("version", "schema hash", *times, *numbers, numbers=numbers, fixed=times)
    for schema_hash, version in snapshot.versions.items():
        made.add_row(
            f"v{version.version}",
            shown(schema_hash),
            moment(version.first_seen),
            number(tally.files[schema_hash]),
            number(tally.records[schema_hash]),
        )
    print_table(made, drop=times)


def _print_files(snapshot: Snapshot, files: Iterable[File]) -> None:
    numbers = ("sequence", "records", "size")
    columns = ("committed (UTC)", "file")
    made = table(*numbers, *columns, numbers=numbers, fixed=columns[:1])
    for file in files:
        made.add_row(
            sequences(file),
            number(None if file.records < 0 else file.records),
            size(file.bytes),
            moment(committed(snapshot, file)) or "?",
            shown(file.path),
        )
    print_table(made, drop=("size", "sequence", "records"))


def sequences(file: File) -> str:
    """The number that a file bears, or all of them where it was merged."""
    if file.lowest_sequence == file.sequence:
        return str(file.sequence)
    return f"{file.lowest_sequence}-{file.sequence}"
