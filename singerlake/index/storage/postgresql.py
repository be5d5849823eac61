"""An index in PostgreSQL: for several machines."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import IsolationLevel

from singerlake.errors import BadLocation, PermissionDenied, Unavailable
from singerlake.index.storage.connection import Connection
from singerlake.index.storage.migration import is_current, migrate
from singerlake.index.storage.relational import RelationalStorage
from singerlake.index.storage.statement import for_postgresql

SCHEMA = "postgresql.sql"
CONNECT_SECONDS = 30
MIGRATION = 0x51A9E41DE8
"""The number of the lock that those who make the tables hold."""

_names = itertools.count()

Raw = psycopg.Connection[tuple[Any, ...]]


class PostgreSQLConnection:
    """A connection within a transaction."""

    def __init__(self, raw: Raw) -> None:
        self._raw = raw

    def using(self, index: str) -> str:
        return ""

    def rows(self, sql: str, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        return list(self._raw.execute(_text(sql), values or None).fetchall())

    def stream(self, sql: str, values: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
        with self._raw.cursor(name=f"singerlake_{next(_names)}") as cursor:
            cursor.itersize = 1000
            yield from cursor.execute(_text(sql), values)

    def run(self, sql: str, values: Mapping[str, Any]) -> None:
        self._raw.execute(_text(sql), values or None)

    def run_many(self, sql: str, values: Sequence[Mapping[str, Any]]) -> None:
        with self._raw.cursor() as cursor:
            cursor.executemany(_text(sql), values)

    def lock(self, sql: str, values: Mapping[str, Any]) -> list[Sequence[Any]]:
        return self.rows(f"{sql} FOR UPDATE", values)


def _text(sql: str) -> bytes:
    return for_postgresql(sql).encode()


class PostgreSQLStorage(RelationalStorage):
    """One database; each thread has a connection of its own."""

    def __init__(self, url: str) -> None:
        self.url = _without_password(url)
        self._secret_url = url
        self._own = threading.local()
        self._all: list[Raw] = []
        with self.read() as connection:
            current = is_current(connection, SCHEMA)
        if not current:
            with self.write() as connection:
                connection.rows("SELECT pg_advisory_xact_lock(:key)", {"key": MIGRATION})
                migrate(connection, SCHEMA, self.url)

    def _connection(self) -> Raw:
        found: Raw | None = getattr(self._own, "connection", None)
        if found is None or found.closed:
            found = psycopg.connect(self._secret_url, connect_timeout=CONNECT_SECONDS)
            found.autocommit = True
            self._own.connection = found
            self._all.append(found)
        return found

    @contextmanager
    def read(self) -> Iterator[Connection]:
        with self._transaction(IsolationLevel.REPEATABLE_READ) as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        with self._transaction(IsolationLevel.READ_COMMITTED) as connection:
            yield connection

    @contextmanager
    def _transaction(self, level: IsolationLevel) -> Iterator[Connection]:
        with self._explained():
            raw = self._connection()
            idle = psycopg.pq.TransactionStatus.IDLE
            if raw.info.transaction_status != idle:  # a question within a change, or another
                yield PostgreSQLConnection(raw)
                return
            raw.isolation_level = level
            with raw.transaction():
                yield PostgreSQLConnection(raw)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except psycopg.errors.InsufficientPrivilege as error:
            raise PermissionDenied(f"{self.url}: {error}") from error
        except psycopg.OperationalError as error:
            raise Unavailable(f"{self.url}: {str(error).strip()}; try again") from error
        except psycopg.ProgrammingError as error:
            if isinstance(error, psycopg.errors.SyntaxError):
                raise
            raise BadLocation(f"{self.url}: {str(error).strip()}") from error

    def close(self) -> None:
        while self._all:
            self._all.pop().close()
        self._own = threading.local()


def _without_password(url: str) -> str:
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")
    user = host[0].partition(":")[0]
    return urlunsplit(parts._replace(netloc=f"{user}{host[1]}{host[2]}", query=""))
