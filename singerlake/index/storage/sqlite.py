"""An index in a SQLite file: the embedded default."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from singerlake.errors import BadLocation, BusyError, CorruptDocument, Unavailable
from singerlake.index.storage.connection import Connection
from singerlake.index.storage.migration import is_current, migrate
from singerlake.index.storage.relational import RelationalStorage

PATIENCE = 120.0
"""Seconds that a writer waits for another."""

CACHE_KIB = 64 * 1024

SCHEMA = "sqlite.sql"
READING, WRITING = "BEGIN", "BEGIN IMMEDIATE"


class SQLiteConnection:
    """A connection of one thread."""

    is_writing = False

    def __init__(self, path: str) -> None:
        # A connection is of one thread, but whoever ends last closes all of them.
        self.raw = sqlite3.connect(
            path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        self.raw.execute("PRAGMA journal_mode = WAL")
        # Without power the newest transactions may go: rows and bookmark go together.
        self.raw.execute("PRAGMA synchronous = NORMAL")
        self.raw.execute(f"PRAGMA cache_size = -{CACHE_KIB}")

    def using(self, index: str) -> str:
        return f"INDEXED BY {index}" if index else ""

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        return self.raw.execute(sql, values).fetchall()

    def stream(self, sql: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        yield from self.raw.execute(sql, values)

    def run(self, sql: str, values: Mapping[str, Any]) -> None:
        self.raw.execute(sql, values)

    def run_many(self, sql: str, values: Sequence[Mapping[str, Any]]) -> None:
        self.raw.executemany(sql, values)

    lock = rows
    """A transaction that writes is the only one."""


class SQLiteStorage(RelationalStorage):
    """One file; each thread has a connection of its own."""

    def __init__(self, path: Path) -> None:
        self.url = f"sqlite:///{path}"
        self._path = path
        self._own = threading.local()
        self._all: list[SQLiteConnection] = []
        path.parent.mkdir(parents=True, exist_ok=True)
        with self.read() as connection:
            current = is_current(connection, SCHEMA)
        if not current:
            with self.write() as connection:
                migrate(connection, SCHEMA, self.url)

    def _connection(self) -> SQLiteConnection:
        found: SQLiteConnection | None = getattr(self._own, "connection", None)
        if found is None:
            found = self._own.connection = SQLiteConnection(str(self._path))
            self._all.append(found)
        return found

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._transaction(READING) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self._transaction(WRITING) as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SQLiteConnection]:
        with self._explained():
            connection = self._connection()
            if connection.raw.in_transaction:  # a question within a change, or within another
                if begin == WRITING and not connection.is_writing:
                    raise RuntimeError("a change begins within a question of the same thread")
                yield connection
                return
            connection.raw.execute(begin)
            connection.is_writing = begin == WRITING
            try:
                yield connection
            except BaseException:
                connection.raw.execute("ROLLBACK")
                raise
            connection.raw.execute("COMMIT")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                raise BusyError(
                    f"{self.url}: another program has been writing for {PATIENCE:.0f} s; try again"
                ) from error
            if "unable to open" in str(error) or "readonly" in str(error):
                raise BadLocation(f"{self.url}: {error}") from error
            raise Unavailable(f"{self.url}: {error}") from error
        except sqlite3.DatabaseError as error:
            if isinstance(error, (sqlite3.IntegrityError, sqlite3.ProgrammingError)):
                raise
            raise CorruptDocument(
                f"{self.url}: {error}; an index is disposable: delete the file, and make it again "
                "by `singerlake index rebuild`"
            ) from error

    def close(self) -> None:
        while self._all:
            self._all.pop().raw.close()
        self._own = threading.local()
