"""The tables of waits: which events are awaited, and the inbox of what was posted."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import Any

from sqlalchemy import (
    Boolean,
    Column,
    DateTime,
    Dialect,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

from singerlake.wait.status.name import NAME, cleaned, fitting


class Moment(TypeDecorator[datetime]):
    """A time in UTC, also in a database that knows no zones."""

    impl = DateTime
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> Any:
        return None if value is None else value.astimezone(timezone.utc).replace(tzinfo=None)

    def process_result_value(self, value: Any, dialect: Dialect) -> datetime | None:
        return None if value is None else value.replace(tzinfo=timezone.utc)


class Name(TypeDecorator[str]):
    """A name of any length, of any characters."""

    impl = String(NAME)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else fitting(value)


class Words(TypeDecorator[str]):
    """Text for people, of any characters."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else cleaned(value)


METADATA = MetaData()

AWAITED = Table(
    "singerlake_awaited",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("wait", Name, nullable=False),
    Column("window", Name, nullable=False),
    Column("name", Name, nullable=False),
    Column("msg", Words, nullable=False),
    Column("source_type", String(NAME), nullable=False),
    Column("frequency", String(20), nullable=False),
    Column("window_start", Moment),
    Column("window_end", Moment),
    Column("last_receive", Words),
    Column("last_receive_time", Moment),
    Column("timeout", Moment),
    Column("state", String(20), nullable=False),
    Column("late", Boolean, nullable=False),
    Column("position", Text),
    Column("error", Words, nullable=False),
    Column("event", Text, nullable=False),
    Column("changed", Moment, nullable=False),
    UniqueConstraint("wait", "window", "name", name="singerlake_awaited_once"),
)
"""A row for each wait, window and event. A new window is a new row, so that history stays."""

INBOX = Table(
    "singerlake_inbox",
    METADATA,
    Column("number", Integer, primary_key=True),
    Column("post", String(NAME), nullable=False),
    Column("id", String(NAME), nullable=False),
    Column("time", Moment, nullable=False),
    Column("received", Moment, nullable=False),
    Column("body", Text, nullable=False),
    UniqueConstraint("post", "id", name="singerlake_inbox_once"),
    Index("singerlake_inbox_time", "post", "time"),
    sqlite_autoincrement=True,
)
"""What was posted, in the order in which it came. An id that comes again is a repeat."""
