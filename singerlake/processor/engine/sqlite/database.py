"""Connections to a SQLite file: one for each thread, and one for all where it is in memory."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path

from singerlake.errors import BadLocation, ConfigError, PermissionDenied, Unavailable

BUSY_SECONDS = 60.0
MEMORY = ":memory:"


class Database:
    def __init__(self, path: str, synchronous: str) -> None:
        if synchronous.lower() not in ("full", "normal"):
            raise ConfigError(f"synchronous: expected full or normal, found {synchronous!r}")
        self.path, self._synchronous = path, synchronous.upper()
        self._local = threading.local()
        self._connections: list[sqlite3.Connection] = []
        self._lock = threading.RLock()
        self.is_memory = path == MEMORY
        self.changed = threading.Condition()
        self.changes = 0

    def open(self) -> None:
        if not self.is_memory and not Path(self.path).absolute().parent.is_dir():
            raise BadLocation(f"{self.path}: there is no such folder; make it first")
        schema = files("singerlake.processor.engine.sqlite").joinpath("schema.sql").read_text()
        with self.write() as database:
            for statement in schema.split(";\n"):
                database.execute(statement)

    def connection(self) -> sqlite3.Connection:
        """That of this thread."""
        if self.is_memory and self._connections:
            return self._connections[0]
        found: sqlite3.Connection | None = getattr(self._local, "connection", None)
        if found is None:
            found = self._local.connection = self.connect()
        return found

    def connect(self) -> sqlite3.Connection:
        try:
            made = sqlite3.connect(
                self.path, BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
            made.execute("PRAGMA journal_mode = WAL")
            made.execute(f"PRAGMA synchronous = {self._synchronous}")
        except sqlite3.Error as error:
            raise _translated(self.path, error) from error
        with self._lock:
            self._connections.append(made)
        return made

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        try:
            if self.is_memory:
                with self._lock:
                    yield self.connection()
            else:
                yield self.connection()
        except sqlite3.Error as error:
            raise _translated(self.path, error) from error

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """One transaction, which is on the disk when it ends."""
        with self.read() as database:
            database.execute("BEGIN IMMEDIATE")
            try:
                yield database
            except BaseException:
                database.execute("ROLLBACK")
                raise
            database.execute("COMMIT")

    def notify(self) -> None:
        """Wake the listeners of this process."""
        with self.changed:
            self.changes += 1
            self.changed.notify_all()

    def close(self) -> None:
        with self._lock:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._local = threading.local()


def _translated(path: str, error: sqlite3.Error) -> Exception:
    text = f"{path}: {error}"
    if isinstance(error, sqlite3.OperationalError):
        if "unable to open" in str(error) or "readonly" in str(error):
            return PermissionDenied(f"{text}; check the folder and who may write there")
        return Unavailable(f"{text}; another process may hold it, or the disk be full")
    if isinstance(error, sqlite3.ProgrammingError):
        return ConfigError(f"{text}; the engine was closed")
    return BadLocation(f"{text}; expected a SQLite file that an engine made")
