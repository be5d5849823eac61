"""`once`: an effect and its position in one transaction, on every database that it knows."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError, Fenced
from singerlake.processor import Event, once
from tests.postgres_package import postgres_server

Connect = Callable[[], Any]


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    with postgres_server() as server:
        yield server.url


@pytest.fixture(params=["sqlite", "psycopg", "sqlalchemy-sqlite", "sqlalchemy-postgres"])
def connect(request: pytest.FixtureRequest, tmp_path: Path) -> Connect:
    kind, path = request.param, tmp_path / "sink.db"
    if kind == "sqlite":
        return lambda: sqlite3.connect(path)
    if kind == "psycopg":
        import psycopg

        url = request.getfixturevalue("postgres")
        with psycopg.connect(url) as connection:
            connection.execute("DROP TABLE IF EXISTS effects, singerlake_once")
        return lambda: psycopg.connect(url)
    import sqlalchemy

    if kind == "sqlalchemy-sqlite":
        return sqlalchemy.create_engine(f"sqlite:///{path}").connect
    url = request.getfixturevalue("postgres").replace("postgresql://", "postgresql+psycopg://", 1)
    engine = sqlalchemy.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("DROP TABLE IF EXISTS effects, singerlake_once"))
    return engine.connect


def run(connection: Any, text: str) -> Any:
    if type(connection).__module__.startswith("sqlalchemy"):
        import sqlalchemy

        return connection.execute(sqlalchemy.text(text))
    return connection.execute(text)


def event(position: int, token: int, **others: Any) -> Event:
    return Event(key="k", value=1, position=position, token=token, **others)


def apply(connect: Connect, one: Event, fails: bool = False, **others: Any) -> bool:
    connection = connect()
    try:
        run(connection, "CREATE TABLE IF NOT EXISTS effects (number BIGINT)")
        connection.commit()
        with once(connection, one, **others) as is_new:
            if is_new:
                run(connection, f"INSERT INTO effects VALUES ({one.sequence or one.position})")
            if fails:
                raise ValueError("no")
        return is_new
    finally:
        connection.close()


def found(connect: Connect) -> list[int]:
    connection = connect()
    rows = run(connection, "SELECT number FROM effects ORDER BY number").fetchall()
    connection.close()
    return [row[0] for row in rows]


def test_an_effect_is_applied_once(connect: Connect) -> None:
    assert apply(connect, event(10, 1))
    assert not apply(connect, event(10, 1))
    assert not apply(connect, event(10, 2))
    assert apply(connect, event(11, 2))
    assert found(connect) == [10, 11]


def test_a_failed_effect_leaves_nothing(connect: Connect) -> None:
    with pytest.raises(ValueError, match="no"):
        apply(connect, event(10, 1), fails=True)
    assert apply(connect, event(10, 1))
    assert found(connect) == [10]


def test_an_older_token_is_fenced(connect: Connect) -> None:
    apply(connect, event(10, 5))
    with pytest.raises(Fenced, match="older than 5"):
        apply(connect, event(11, 4))
    assert found(connect) == [10]


def test_events_of_a_lake_go_by_their_log(connect: Connect) -> None:
    lake = event(100, 5, log_id="log", sequence=7)
    assert apply(connect, lake)
    # The engine was emptied: positions and tokens are others, the sequence is not.
    assert not apply(connect, replace(lake, position=900, token=9))
    assert apply(connect, replace(lake, position=901, token=9, sequence=8))
    assert apply(connect, replace(lake, position=902, token=9, log_id="new", sequence=1))


def test_consumers_have_positions_of_their_own(connect: Connect) -> None:
    assert apply(connect, event(10, 1), consumer="one")
    assert apply(connect, event(10, 1), consumer="two")


def test_a_connection_without_transactions_is_refused(postgres: str) -> None:
    import psycopg

    with (
        psycopg.connect(postgres, autocommit=True) as connection,
        pytest.raises(ConfigError, match="autocommit"),
        once(connection, event(1, 1)),
    ):
        pass


def test_other_connections_are_refused() -> None:
    with pytest.raises(ConfigError, match="psycopg"), once(object(), event(1, 1)):
        pass


def test_an_effect_is_known_across_a_log_that_goes_on_from_another(connect: Connect) -> None:
    """Up to 5 both logs have the same commits; the sink has seen 6 of the old one, then 7 of the
    new one, and everything comes once more, as after the loss of an engine."""
    logs = {"old": 5, "new": 2**53}

    def at(sequence: int) -> Event:
        log_id = "old" if sequence <= 5 else "new"
        return event(sequence, 1, log_id=log_id, sequence=sequence, logs=logs)

    for sequence in range(1, 7):
        assert apply(connect, event(sequence, 1, log_id="old", sequence=sequence))
    assert [apply(connect, at(sequence)) for sequence in (4, 5, 6, 7)] == [False, False, True, True]
    assert [apply(connect, at(sequence)) for sequence in (4, 5, 6, 7, 8)] == [False] * 4 + [True]
    assert found(connect) == [1, 2, 3, 4, 5, 6, 6, 7, 8]
