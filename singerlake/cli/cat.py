"""`singerlake cat`: a stream's records, as they were stored."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import islice, repeat
from typing import NamedTuple

import click
import msgspec

from singerlake.cli.console import is_terminal
from singerlake.cli.options import (
    as_of_option,
    command,
    extent,
    json_option,
    run_option,
    schema_hash_of,
    since_option,
)
from singerlake.cli.root import Root, root_arguments
from singerlake.format import message
from singerlake.format.manifest import File
from singerlake.format.printable import plain
from singerlake.lake import Selection, Snapshot
from singerlake.lake.extent import AsOf, Extent, covered
from singerlake.lake.merge import read_merge, too_many_lines


class _Raw(msgspec.Struct):
    record: msgspec.Raw


class _Stored(NamedTuple):
    """A stored line, where it is from, and the number under which it was committed."""

    line: bytes
    file: File
    sequence: int


_raw = msgspec.json.Decoder(_Raw)
_python = json.JSONDecoder()


@command()
@root_arguments("tap", "stream")
@since_option
@run_option
@as_of_option
@click.option(
    "--limit",
    type=click.IntRange(min=0, max=sys.maxsize),
    metavar="N",
    help="At most so many.",
)
@click.option(
    "--version",
    metavar="VERSION",
    help="Only this schema version: v2, a schema hash, or latest, that of the newest file.",
)
@click.option(
    "--messages", is_flag=True, help="The stored Singer messages, with the SCHEMA of each file."
)
@json_option
def cat(
    root: Root,
    tap: str,
    stream: str,
    since: int | datetime | None,
    runs: tuple[str, ...],
    as_of: AsOf | None,
    limit: int | None,
    version: str | None,
    messages: bool,
    as_json: bool,
) -> None:
    """Print the records of a stream.

    One on a line, in commit order. A record, and with --messages the whole message, comes byte for
    byte as the tap wrote it; only a terminal is spared what it would obey. --since with a time is
    about `time_extracted`. --json gives each record with its sequence number, version and time, one
    object on a line.

    \b
    Examples:
      singerlake cat ./lake tap-github--meltano issues --limit 5
      singerlake cat ./lake tap-github--meltano issues --since 41 | jq .title
      singerlake cat ./lake tap-github--meltano issues --since 2026-11-01 --version v2
      singerlake cat ./lake tap-github--meltano issues --run last --json
      singerlake cat ./lake tap-github--meltano issues --messages | target-jsonl
    """
    if messages and as_json:
        raise click.UsageError("--messages are JSON already: leave --json out")
    snapshot = root.lake().stream(tap, stream).snapshot()
    selection = _selection(snapshot, since, version, extent(runs, as_of))
    start = since if isinstance(since, datetime) else None
    found = islice(_lines(snapshot, selection, start, messages, as_json), limit)
    if messages:
        _write(stored.line for stored in found)
    elif as_json:
        _write(_row(snapshot, stored) for stored in found)
    else:
        _write(_record(stored.line) for stored in found)


def _selection(
    snapshot: Snapshot, since: int | datetime | None, version: str | None, asked: Extent
) -> Selection:
    return replace(
        covered(snapshot, asked).selection,
        since=since if isinstance(since, int) else 0,
        start=since if isinstance(since, datetime) else None,
        schema_hashes=None if version is None else {schema_hash_of(snapshot, version)},
    )


def _lines(
    snapshot: Snapshot,
    selection: Selection,
    start: datetime | None,
    messages: bool,
    numbered: bool,
) -> Iterator[_Stored]:
    """The records, or all messages; a selected file may hold records from before `start`.

    Unless they are to be `numbered`, which takes a request for each merged file, the sequence of
    each is its file's.
    """
    for file in snapshot.files(selection):
        own = _sequences(snapshot, file, selection) if numbered else repeat(file.sequence)
        # The lines first: at their end no further number is asked for.
        for line, sequence in zip(snapshot.lines(file, selection), own, strict=False):
            found = message.decode(line)
            if found.type != "RECORD":
                if messages:
                    yield _Stored(line, file, sequence)
            elif start is None or found.time_extracted is None or found.time_extracted >= start:
                yield _Stored(line, file, sequence)


def _sequences(snapshot: Snapshot, file: File, selection: Selection) -> Iterator[int]:
    """For each selected line of a file, the SCHEMA line first, the number it was committed under:
    those of a merged file keep theirs. Raises `CorruptFile` where there are too many."""
    merged = read_merge(snapshot.store, snapshot.keys, file)
    if merged is None or not merged.parts:
        yield from repeat(file.sequence)
        return
    yield file.sequence
    for sequence, lines in merged.parts:
        if selection.holds(sequence):
            yield from repeat(sequence, lines)
    where = f"{snapshot.store.url}/{snapshot.keys.under(file.path)}"
    raise too_many_lines(where, merged.lines)


def _record(line: bytes) -> bytes:
    """The record within a RECORD line, byte for byte."""
    try:
        return bytes(_raw.decode(line).record)
    except msgspec.DecodeError:
        message.record_of(line)  # raises `BadMessage` for what Python's json does not read either
        return _cut_out(line.decode())


def _cut_out(text: str) -> bytes:
    """The last `record` of a message that only Python's json reads, such as one with NaN."""
    record, place = "", _after_space(text, text.index("{") + 1)
    while text[place] != "}":
        name, place = _python.raw_decode(text, place)
        begin = _after_space(text, _after_space(text, place) + 1)  # behind the colon
        _, end = _python.raw_decode(text, begin)
        record = text[begin:end] if name == "record" else record
        place = _after_space(text, end)
        place = _after_space(text, place + 1) if text[place] == "," else place
    return record.encode()


def _after_space(text: str, place: int) -> int:
    while text[place] in " \t\r\n":
        place += 1
    return place


def _row(snapshot: Snapshot, stored: _Stored) -> bytes:
    """The record, byte for byte, within an object of ours."""
    line, file, sequence = stored
    version = snapshot.versions.get(file.schema_hash)
    time = message.decode(line).time_extracted
    about = {
        "sequence": sequence,
        "version": None if version is None else version.version,
        "schema_hash": file.schema_hash,
        "time_extracted": None if time is None else time.isoformat(),
    }
    return json.dumps(about).encode()[:-1] + b', "record": ' + _record(line) + b"}"


def _write(lines: Iterator[bytes]) -> None:
    """To a pipe as they are; to a terminal without what it would obey."""
    on_screen = is_terminal()
    for line in lines:
        if on_screen:
            click.echo(plain(line.decode("utf-8", "backslashreplace")))
        else:
            sys.stdout.buffer.write(line + b"\n")
