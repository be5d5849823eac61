"""The lines of `singerlake log`: a committed file each, in order, as a table or as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.table import Table

from singerlake.cli.console import moment, number, print_json_lines, print_table, size, table
from singerlake.cli.name import shown
from singerlake.cli.show import sequences
from singerlake.format.manifest import File


@dataclass(frozen=True)
class Line:
    """A committed file as it is shown. `version` and `committed` are None where nobody knows."""

    tap_id: str
    stream: str
    file: File
    version: int | None
    committed: datetime | None


def in_order(lines: Iterable[Line]) -> list[Line]:
    """By time, and each stream's in the order of its log: the clocks of its writers may differ."""
    latest: dict[tuple[str, str], datetime] = {}
    timed = []
    for line in lines:
        file, place = line.file, (line.tap_id, line.stream)
        latest[place] = max(file.committed, latest.get(place, file.committed))
        timed.append((latest[place], line))
    return [line for _, line in sorted(timed, key=lambda pair: pair[0])]


def print_lines(lines: list[Line], made: Table, as_json: bool) -> None:
    if as_json:
        print_json_lines(map(_row, lines))
        return
    for line in lines:
        file = line.file
        made.add_row(
            moment(line.committed) or "?",
            sequences(file),
            "?" if line.version is None else f"v{line.version}",
            number(None if file.records < 0 else file.records),
            size(file.bytes),
            shown(f"{line.tap_id} {line.stream}"),
        )
    print_table(made, drop=("size", "ver", "records", "sequence"))


def empty_table(header: bool = True, steady: bool = False) -> Table:
    """`steady`: columns as wide whatever the rows hold, so that tables line up."""
    numbers = {"sequence": 8, "ver": 3, "records": 10, "size": 8}
    made = table(
        "committed (UTC)", *numbers, "stream", numbers=tuple(numbers), fixed=("committed (UTC)",)
    )
    made.show_header = header
    for column in made.columns if steady else ():
        column.min_width = {**numbers, "committed (UTC)": 19}.get(str(column.header))
    return made


def _row(line: Line) -> dict[str, Any]:
    file = line.file
    return {
        "committed": line.committed,
        "tap_id": line.tap_id,
        "stream": line.stream,
        "first_sequence": file.lowest_sequence,
        "sequence": file.sequence,
        "version": line.version,
        "schema_hash": file.schema_hash,
        "records": None if file.records < 0 else file.records,
        "bytes": file.bytes,
        "writer_id": file.writer_id,
        "run_id": file.run_id,
        "path": file.path,
    }
