"""The database of waits: opened, and brought to this version's tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from filelock import FileLock
from sqlalchemy import Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from singerlake.errors import BadLocation, Unavailable, UnsupportedFormat

VERSION_TABLE = "singerlake_wait_version"
_MIGRATIONS = Path(__file__).parent / "migrations"
_ADVISORY = 0x73696E6765726C6B
"""The number of the lock that PostgreSQL keeps for whoever migrates."""

_BUSY_SECONDS = 30


def open_database(url: str) -> Engine:
    """The database at an SQLAlchemy URL, with the tables of this version.

    Raises `BadLocation`, `Unavailable`, and `UnsupportedFormat` for one that a newer Singerlake
    has migrated.
    """
    engine = _engine(url)
    with answered(engine):
        if _version(engine) != _head():
            _migrate(engine)
    return engine


@contextmanager
def answered(engine: Engine) -> Iterator[None]:
    """Errors of the database as ours: the address without its password."""
    try:
        yield
    except DBAPIError as error:
        raise Unavailable(
            f"{engine.url.render_as_string(hide_password=True)}: the database of waits does not "
            f"answer ({type(error.orig).__name__}: {error.orig}); try again once it does"
        ) from None
    except SQLAlchemyError as error:
        raise Unavailable(
            f"{engine.url.render_as_string(hide_password=True)}: the database of waits failed "
            f"({type(error).__name__})"
        ) from None


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        if parsed.get_backend_name() == "postgresql" and "+" not in parsed.drivername:
            parsed = parsed.set(drivername="postgresql+psycopg")
        if parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:"):
            Path(str(parsed.database)).expanduser().parent.mkdir(parents=True, exist_ok=True)
        engine = create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError, ModuleNotFoundError, OSError) as error:
        raise BadLocation(
            "expected the URL of a database, such as sqlite:///waits.db or "
            f"postgresql://host/name, found one that cannot be opened ({type(error).__name__})"
        ) from None
    if parsed.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _durable)
    return engine


def _durable(connection: sqlite3.Connection, record: Any) -> None:
    """What was answered survives a power cut; readers and writers do not wait for each other."""
    connection.execute("pragma journal_mode=wal")
    connection.execute("pragma synchronous=full")
    connection.execute(f"pragma busy_timeout={_BUSY_SECONDS * 1000}")


def _migrate(engine: Engine) -> None:
    """By one process at a time; the others find the tables made."""
    with _alone(engine), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("select pg_advisory_xact_lock(:number)"), {"number": _ADVISORY})
        config = _config()
        config.attributes["connection"] = connection
        try:
            command.upgrade(config, "head")
        except CommandError as error:
            raise UnsupportedFormat(
                f"{engine.url.render_as_string(hide_password=True)}: expected tables of version "
                f"{_head()} or older, found another ({error}): upgrade Singerlake"
            ) from None


@contextmanager
def _alone(engine: Engine) -> Iterator[None]:
    path = engine.url.database if engine.dialect.name == "sqlite" else None
    if path in (None, "", ":memory:"):
        yield
        return
    lock = FileLock(f"{path}.migration", timeout=_BUSY_SECONDS)
    try:
        lock.acquire()
    except OSError as error:
        raise Unavailable(
            f"sqlite:///{path}: the tables cannot be made now ({error}); another process may be "
            "making them: try again, and see that its folder can be written to"
        ) from None
    try:
        yield
    finally:
        lock.release()


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    return config


def _head() -> str:
    return str(ScriptDirectory.from_config(_config()).get_current_head())


def _version(engine: Engine) -> str | None:
    with engine.connect() as connection:
        return _version_on(connection)


def _version_on(connection: Connection) -> str | None:
    if not inspect(connection).has_table(VERSION_TABLE):
        return None
    return connection.execute(text(f"select version_num from {VERSION_TABLE}")).scalar()
