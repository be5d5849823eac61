"""What a buffer knows beside its events: how far each destination is, counters, gaps, dead letters.

A checkpoint is committed without a sync: after a power cut events are sent again, none is lost.
What cannot be made again (a partition will be deleted, events are dropped) is synced first.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from singerlake.errors import CorruptFile
from singerlake.lineage.buffer.disk import database
from singerlake.lineage.buffer.disk.partition import newer

_TABLES = """
CREATE TABLE facts(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoints(destination TEXT PRIMARY KEY, sequence INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE counters(
    name TEXT NOT NULL, destination TEXT NOT NULL, value INTEGER NOT NULL,
    PRIMARY KEY(name, destination)) WITHOUT ROWID;
CREATE TABLE gaps(
    first INTEGER PRIMARY KEY, last INTEGER NOT NULL, lost INTEGER NOT NULL,
    reason TEXT NOT NULL, noted INTEGER NOT NULL);
CREATE TABLE dead(
    sequence INTEGER NOT NULL, destination TEXT NOT NULL, died INTEGER NOT NULL,
    status INTEGER, reason TEXT NOT NULL, event BLOB NOT NULL, again INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(destination, sequence));
CREATE TABLE skips(
    destination TEXT NOT NULL, sequence INTEGER NOT NULL,
    PRIMARY KEY(destination, sequence)) WITHOUT ROWID;
"""
LOG_PAGES = 32
"""SQLite's log of the state: small, made once, and used again and again."""

FLOOR = "floor"
"""The first number that the buffer should still have."""


class State:
    """Any thread may use it."""

    def __init__(self, path: Path, owned: bool = False) -> None:
        """`owned`: for the proxy that works on it. Raises `CorruptFile`, `UnsupportedFormat`."""
        fresh = not path.exists()
        self._lock = threading.RLock()
        try:
            self._connection = database.connect(path, create=fresh)
        except sqlite3.Error as error:
            raise _damage(path, error) from None
        try:
            if fresh:
                self._create()
                database.sync_folder(path.parent)
            self._examine(path)
            self._connection.execute(f"PRAGMA wal_autocheckpoint={LOG_PAGES}")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            if owned:
                self._make_room()
        except sqlite3.Error as error:
            self._connection.close()
            raise _damage(path, error) from None
        except BaseException:
            self._connection.close()
            raise

    def _create(self) -> None:
        self._connection.execute("BEGIN")
        database.stamp(self._connection)
        for statement in _TABLES.split(";"):
            self._connection.execute(statement)
        self._connection.execute("COMMIT")

    def _examine(self, path: Path) -> None:
        application, format = database.stamp_of(self._connection)
        if application != database.APPLICATION:
            raise CorruptFile(f"{path}: expected the state of a buffer, found another file")
        if format > database.FORMAT:
            raise newer(path, format)
        ((verdict,),) = self._connection.execute("PRAGMA quick_check(1)").fetchall()
        if verdict != "ok":
            raise CorruptFile(f"{path}: expected a sound state, found damage: {verdict}")

    def _make_room(self) -> None:
        """Let the log and the file take what they need now: on a full disk, checkpoints must still
        find room, for without them nothing can be deleted."""
        size = LOG_PAGES * database.PAGE_BYTES
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("CREATE TABLE room AS SELECT zeroblob(?) AS filler", (size,))
            self._connection.execute("DROP TABLE room")
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if not database.is_full(error):
                raise

    @contextmanager
    def change(self, durable: bool = False) -> Iterator[sqlite3.Connection]:
        """A transaction; synced to the disk where it must be `durable`."""
        with self._lock:
            if durable:
                self._connection.execute("PRAGMA synchronous=FULL")
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                try:
                    yield self._connection
                    self._connection.execute("COMMIT")
                except BaseException:
                    if self._connection.in_transaction:
                        self._connection.execute("ROLLBACK")
                    raise
            finally:
                if durable:
                    self._connection.execute("PRAGMA synchronous=NORMAL")

    def rows(self, query: str, *values: object) -> list[tuple[object, ...]]:
        with self._lock:
            return self._connection.execute(query, values).fetchall()

    def fact(self, name: str) -> int | None:
        for (value,) in self.rows("SELECT value FROM facts WHERE name=?", name):
            return int(str(value))
        return None

    def checkpoints(self) -> dict[str, int]:
        rows = self.rows("SELECT destination, sequence FROM checkpoints")
        return {str(destination): int(str(sequence)) for destination, sequence in rows}

    def counters(self) -> dict[tuple[str, str], int]:
        rows = self.rows("SELECT name, destination, value FROM counters")
        return {(str(name), str(to)): int(str(value)) for name, to, value in rows}

    def close(self) -> None:
        with self._lock:
            self._connection.close()


def set_fact(connection: sqlite3.Connection, name: str, value: int) -> None:
    connection.execute("INSERT OR REPLACE INTO facts VALUES(?,?)", (name, value))


def set_checkpoint(connection: sqlite3.Connection, destination: str, sequence: int) -> None:
    connection.execute("INSERT OR REPLACE INTO checkpoints VALUES(?,?)", (destination, sequence))


def count(connection: sqlite3.Connection, destination: str, counts: Mapping[str, int]) -> None:
    """Counters that are exact across restarts: they change with what they count."""
    connection.executemany(
        "INSERT INTO counters VALUES(?,?,?) "
        "ON CONFLICT(name, destination) DO UPDATE SET value = value + excluded.value",
        [(name, destination, number) for name, number in counts.items() if number],
    )


def _damage(path: Path, error: sqlite3.Error) -> CorruptFile | sqlite3.Error:
    if database.is_full(error) or not database.is_damage(error, path):
        return error
    return CorruptFile(f"{path}: expected the state of a buffer, found damage: {error}")
