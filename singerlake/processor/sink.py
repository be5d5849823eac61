"""Exactly once at the sink: a position in the sink's own transaction."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from singerlake.errors import ConfigError, Fenced
from singerlake.processor.event import Event

TABLE = "singerlake_once"
LAST = 2**63 - 1
"""No position is above it."""

_CREATE = (
    f"CREATE TABLE IF NOT EXISTS {TABLE} ("
    "consumer VARCHAR(200) NOT NULL, key VARCHAR(1024) NOT NULL,"
    " log_id VARCHAR(64) NOT NULL, position BIGINT NOT NULL, token BIGINT NOT NULL,"
    " PRIMARY KEY (consumer, key))"
)


@contextmanager
def once(connection: Any, event: Event, consumer: str = "") -> Iterator[bool]:
    """Commit the effects of the block with the event's position, or none of them.

    with once(connection, event) as is_new:
        if is_new:
            connection.execute("insert …")

    `connection` is one of psycopg, sqlite3 or SQLAlchemy. It yields False where the effect of this
    event is in the database already; then do nothing. At the end it commits, and on an error it
    rolls back. `consumer` tells several processors apart that write to one database.

    Raises `Fenced` where a processor with a newer token was here.
    """
    sink = _sink(connection)
    sink.begin()
    try:
        known = sink.lock(consumer, event.key)
        position = event.sequence or event.position
        if known is not None and event.token < known[2]:
            raise Fenced(
                f"key {event.key!r}: token {event.token} is older than {known[2]}, which another "
                "processor brought; nothing was written"
            )
        is_new = known is None or position > min(known[1], _last_of(known[0], event))
        yield is_new
        if is_new:
            sink.keep(consumer, event.key, event.log_id, position, event.token)
    except BaseException:
        sink.rollback()
        raise
    sink.commit()


def _last_of(log_id: str, event: Event) -> int:
    """The last number of a log that is an event's number too; -1 where they share none.

    A log that was begun anew goes on from the older one up to a number: behind it, both have
    others.
    """
    return event.logs.get(log_id, -1) if event.logs else (LAST if log_id == event.log_id else -1)


class _Sink:
    """The database of one connection; `mark` is how it writes a parameter."""

    mark = "?"
    lock_clause = ""

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def begin(self) -> None:
        self.run(_CREATE)

    def run(self, text: str, *values: Any) -> Any:
        return self.connection.execute(text, values)

    def lock(self, consumer: str, key: str) -> tuple[str, int, int] | None:
        where = f"WHERE consumer = {self.mark} AND key = {self.mark}{self.lock_clause}"
        row = self.run(
            f"SELECT log_id, position, token FROM {TABLE} {where}", consumer, key
        ).fetchone()
        return None if row is None else (str(row[0]), int(row[1]), int(row[2]))

    def keep(self, *values: Any) -> None:
        marks = ", ".join([self.mark] * 5)
        self.run(
            f"INSERT INTO {TABLE} (consumer, key, log_id, position, token) VALUES ({marks}) "
            "ON CONFLICT (consumer, key) DO UPDATE SET log_id = excluded.log_id, "
            "position = excluded.position, token = excluded.token",
            *values,
        )

    def commit(self) -> None:
        self.connection.commit()

    def rollback(self) -> None:
        self.connection.rollback()


class _Sqlite(_Sink):
    def begin(self) -> None:
        super().begin()
        if not self.connection.in_transaction:
            # From here on nobody else writes: what is read below stays true.
            self.connection.execute("BEGIN IMMEDIATE")


class _Postgres(_Sink):
    mark = "%s"
    lock_clause = " FOR UPDATE"

    def begin(self) -> None:
        # Two sessions that create one table at the same moment meet in the catalogue.
        self.run("SELECT pg_advisory_xact_lock(7386129)")
        super().begin()

    def lock(self, consumer: str, key: str) -> tuple[str, int, int] | None:
        # A row that is not there yet cannot be locked: its name can.
        name = f"{consumer}\n{key}"
        self.run("SELECT pg_advisory_xact_lock(hashtextextended(%s, 7386129))", name)
        return super().lock(consumer, key)


class _Alchemy(_Sink):
    """SQLAlchemy, on PostgreSQL or SQLite."""

    def __init__(self, connection: Any) -> None:
        super().__init__(connection)
        self._name = connection.dialect.name
        if self._name not in ("postgresql", "sqlite"):
            raise ConfigError(f"once knows PostgreSQL and SQLite, not {self._name}")
        self.lock_clause = " FOR UPDATE" if self._name == "postgresql" else ""

    def begin(self) -> None:
        if self._name == "postgresql":
            self.run("SELECT pg_advisory_xact_lock(7386129)")
        super().begin()

    def run(self, text: str, *values: Any) -> Any:
        from sqlalchemy import text as sql  # whoever has such a connection has SQLAlchemy

        names = [f"p{number}" for number in range(len(values))]
        for name in names:
            text = text.replace("?", f":{name}", 1)
        return self.connection.execute(sql(text), dict(zip(names, values, strict=True)))

    def lock(self, consumer: str, key: str) -> tuple[str, int, int] | None:
        if self._name == "postgresql":
            name = f"{consumer}\n{key}"
            self.run("SELECT pg_advisory_xact_lock(hashtextextended(?, 7386129))", name)
        return super().lock(consumer, key)


def _sink(connection: Any) -> _Sink:
    package = type(connection).__module__.partition(".")[0]
    found = {"sqlite3": _Sqlite, "psycopg": _Postgres, "sqlalchemy": _Alchemy}.get(package)
    if found is None:
        raise ConfigError(
            f"once knows connections of psycopg, sqlite3 and SQLAlchemy, not of {package}"
        )
    if getattr(connection, "autocommit", False) is True:
        raise ConfigError(
            f"once needs a transaction, and this connection of {package} commits each statement by "
            "itself: open it without autocommit"
        )
    return found(connection)
