"""What `singerlake find` prints: addresses, a table, or JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Literal

import click

from singerlake.cli.console import (
    complain,
    is_terminal,
    moment,
    number,
    print_json_lines,
    print_table,
    safe_json,
    size,
    table,
)
from singerlake.cli.name import shown

if TYPE_CHECKING:
    from singerlake.index import Entry

Form = Literal["url", "table", "json"]
FORMS = ("url", "table", "json")

TABLE_ROWS = 100
"""How many rows a table on a screen has, where nobody asks for another number."""


def print_found(found: Iterable[Entry], root: str, form: Form, limit: int | None) -> bool:
    """Print the entries, and say so where there are more; returns whether there are none."""
    if limit is None and form == "table" and is_terminal():
        limit = TABLE_ROWS
    wanted = _one_for_each_address(found) if form == "url" else iter(found)
    first = next(wanted, None)
    if first is None:
        return True
    most = limit or None
    shown_first = islice(chain([first], wanted), most)
    if form == "url":
        for entry in shown_first:
            click.echo(safe_json(address(root, entry)))
    elif form == "json":
        print_json_lines(_row(root, entry) for entry in shown_first)
    else:
        _print_table(shown_first)
    if most is not None and next(wanted, None) is not None:
        what = "addresses" if form == "url" else "files"
        complain(f"{most:,} {what} are shown: --limit 0 shows all", "More files")
    return False


def address(root: str, entry: Entry) -> str:
    """Where the bytes are: in the lake, or where an upload is."""
    return entry.key if entry.upload is not None else f"{root}/{entry.key}"


def _one_for_each_address(entries: Iterable[Entry]) -> Iterator[Entry]:
    """After a vacuum one object holds many commits: whoever reads addresses wants it once."""
    seen: set[str] = set()
    for entry in entries:
        if entry.key not in seen:
            seen.add(entry.key)
            yield entry


def _print_table(entries: Iterable[Entry]) -> None:
    from singerlake.index import moment as time_of

    numbers = ("sequence", "ver", "records", "size")
    times = ("first (UTC)", "last (UTC)")
    made = table(*times, *numbers, "stream", "run", numbers=numbers, fixed=times)
    for entry in entries:
        lowest, last = entry.lowest_sequence, entry.sequence
        made.add_row(
            moment(time_of(entry.start)),
            moment(time_of(entry.end)),
            f"{last}" if lowest == last else f"{lowest}-{last}",
            "?" if entry.version is None else f"v{entry.version}",
            number(entry.records),
            size(entry.size),
            shown(f"{entry.tap} {entry.stream}"),
            shown(entry.run_id or "?"),
        )
    print_table(made, drop=("ver", "size", "sequence", "last (UTC)"))


def _row(root: str, entry: Entry) -> dict[str, Any]:
    from singerlake.index import moment as time_of

    return {
        "id": entry.id,
        "tap_id": entry.tap,
        "stream": entry.stream,
        "log_id": entry.log_id,
        "first_sequence": entry.lowest_sequence,
        "sequence": entry.sequence,
        "ordinal": entry.ordinal,
        "first": time_of(entry.start),
        "last": time_of(entry.end),
        "committed": time_of(entry.create_time),
        "run_id": entry.run_id,
        "writer_id": entry.writer_id,
        "version": entry.version,
        "schema_hash": entry.schema_hash,
        "records": entry.records,
        "bytes": entry.size,
        "checksum": entry.hash,
        "merged": entry.merged,
        "file": entry.key,
        "url": address(root, entry),
    }
