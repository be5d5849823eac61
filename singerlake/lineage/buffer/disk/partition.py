"""One SQLite file of events. A partition is made whole beside the others, then gets its name."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from singerlake.errors import CorruptFile, UnsupportedFormat
from singerlake.lineage.buffer.disk import database
from singerlake.lineage.buffer.disk.event import Row, unpack
from singerlake.lineage.buffer.disk.layout import PREPARED, copy_of, files_of, partition_path

_TABLE = """
CREATE TABLE events(
    sequence INTEGER PRIMARY KEY,
    received INTEGER NOT NULL,
    size INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    event BLOB NOT NULL
)"""
_COLUMNS = "sequence, received, size, checksum, event"


@dataclass(frozen=True)
class Partition:
    """`last` is below `first` while it is empty."""

    path: Path
    first: int
    last: int

    @property
    def copy(self) -> int:
        return copy_of(self.path)

    def grown(self, last: int) -> Partition:
        return Partition(self.path, self.first, last)


def create(folder: Path, first: int, rows: Iterable[Row] = (), copy: int = 0) -> Partition:
    """Durable when this returns, with its rows and with its name."""
    prepared = folder / PREPARED
    discard(prepared)
    connection = database.connect(prepared, create=True)
    last = first - 1
    try:
        connection.execute("BEGIN")
        database.stamp(connection)
        connection.execute(_TABLE)
        for row in rows:
            connection.execute("INSERT INTO events VALUES(?,?,?,?,?)", row)
            last = row[0]
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()
    path = partition_path(folder, first, copy)
    discard(path)  # one that never got an event
    prepared.rename(path)
    database.sync_folder(folder)
    return Partition(path, first, last)


def opened(path: Path, first: int, sealed: bool = False) -> Partition:
    """Raises `CorruptFile`, also for a foreign file, and `UnsupportedFormat` for a newer one."""
    try:
        connection = database.connect_to_read(path, sealed)
        try:
            application, format = database.stamp_of(connection)
            if application != database.APPLICATION:
                raise CorruptFile(f"{path}: expected a partition of events, found another file")
            if format > database.FORMAT:
                raise newer(path, format)
            newest = connection.execute(
                f"SELECT {_COLUMNS} FROM events ORDER BY sequence DESC LIMIT 1"
            ).fetchone()
            # Checked, as its number says how many there are: damage may put any number here.
            last = first - 1 if newest is None else unpack(newest).sequence
            return Partition(path, first, last)
        finally:
            connection.close()
    except sqlite3.Error as error:
        if database.is_full(error) or not database.is_damage(error, path):
            raise
        raise CorruptFile(
            f"{path}: expected a partition of events, found damage: {error}"
        ) from None


def newer(path: Path, format: int) -> UnsupportedFormat:
    return UnsupportedFormat(
        f"{path}: expected format {database.FORMAT} or older, found format {format}; a newer "
        "Singerlake wrote it: upgrade this one, or give it another folder with --data"
    )


def append(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    """All or none, synced to the disk. Raises `sqlite3.Error`."""
    if len(rows) == 1:
        connection.execute("INSERT INTO events VALUES(?,?,?,?,?)", rows[0])
        return  # a transaction by itself, for a third of the calls
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.executemany("INSERT INTO events VALUES(?,?,?,?,?)", rows)
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def rows_after(connection: sqlite3.Connection, sequence: int, at_most: int) -> list[Row]:
    found: list[Row] = connection.execute(
        f"SELECT {_COLUMNS} FROM events WHERE sequence > ? ORDER BY sequence LIMIT ?",
        (sequence, at_most),
    ).fetchall()
    return found


def row_at(connection: sqlite3.Connection, sequence: int) -> Row | None:
    found: Row | None = connection.execute(
        f"SELECT {_COLUMNS} FROM events WHERE sequence = ?", (sequence,)
    ).fetchone()
    return found


def discard(path: Path) -> None:
    """Delete a database: what is beside it first, or SQLite would take that for a new one's."""
    for file in files_of(path):
        file.unlink(missing_ok=True)
