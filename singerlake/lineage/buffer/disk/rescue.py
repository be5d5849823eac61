"""What can still be read of a damaged partition, and where the rest is kept."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from singerlake.errors import CorruptFile
from singerlake.lineage.buffer.disk import database, partition
from singerlake.lineage.buffer.disk.event import Row, unpack
from singerlake.lineage.buffer.disk.gaps import ranges
from singerlake.lineage.buffer.disk.layout import DAMAGED, files_of
from singerlake.lineage.buffer.disk.partition import Partition
from singerlake.runtime import Runtime


def rescue(folder: Path, broken: Partition) -> tuple[Partition, int, list[tuple[int, int]]]:
    """A sound copy, how many events are in it, and the numbers that are not.

    The copy has a name of its own, and counts from then on: a crash before that changes nothing.
    """
    rows = list(_readable(broken))
    found = {row[0] for row in rows}
    lost = ranges(number for number in range(broken.first, broken.last + 1) if number not in found)
    copy = partition.create(folder, broken.first, rows, broken.copy + 1)
    return copy, len(rows), lost


def _readable(broken: Partition) -> Iterator[Row]:
    """Number by number: a page that cannot be read hides only the events that are in it."""
    try:
        connection = database.connect_to_read(broken.path)
    except sqlite3.Error:
        return
    with closing(connection):
        for number in range(broken.first, broken.last + 1):
            if row := _row(connection, number):
                yield row
        # A power cut may have taken the number of the last event, and left the event.
        number = broken.last + 1
        while row := _row(connection, number):
            yield row
            number += 1


def _row(connection: sqlite3.Connection, number: int) -> Row | None:
    try:
        row = partition.row_at(connection, number)
        return row if row is not None and unpack(row).sequence == number else None
    except (sqlite3.Error, CorruptFile):
        return None


def set_aside(folder: Path, path: Path, runtime: Runtime) -> None:
    """Keep a damaged file for whoever wants to look at it; nothing reads it any more."""
    aside = folder / DAMAGED
    aside.mkdir(exist_ok=True)
    stamp = f"{runtime.now():%Y%m%dT%H%M%S.%fZ}"
    # The database goes first: what is beside it must never be taken for another's.
    for file in reversed(files_of(path)):
        file.rename(aside / f"{stamp}-{file.name}")
    database.sync_folder(aside)
    database.sync_folder(folder)
