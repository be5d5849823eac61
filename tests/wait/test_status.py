"""The status table, on SQLite and PostgreSQL."""

from __future__ import annotations

import multiprocessing
import sqlite3
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from filelock import FileLock
from sqlalchemy import inspect, text

from singerlake.errors import BadLocation, ConfigError, Unavailable, UnsupportedFormat
from singerlake.wait import Arrival, HttpEvent, Window
from singerlake.wait.inbox import Inbox
from singerlake.wait.status import database
from singerlake.wait.status.database import VERSION_TABLE, open_database
from singerlake.wait.status.store import StatusStore
from singerlake.wait.status.table import METADATA

NOW = datetime(2026, 7, 7, 8, tzinfo=timezone.utc)
DAY = Window("D").at(NOW)
EVENT = HttpEvent(post="A", window=Window("D"))
ARRIVAL = Arrival(time=NOW, position={"inbox": 1}, text="post 1")


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/waits.db"
        return
    yield request.getfixturevalue("postgres").new_database()


def test_rows_are_declared_once_and_received_once(url: str) -> None:
    engine = open_database(url)
    store = StatusStore(engine)
    first = store.declare("w", EVENT, DAY, NOW)
    again = store.declare("w", HttpEvent(post="A", window=Window("D"), moving=True), DAY, None)
    assert first == again  # who declared first has declared it
    store.receive("w", DAY.name, EVENT.title, ARRIVAL)
    store.receive("w", DAY.name, EVENT.title, Arrival(time=NOW, position={"inbox": 2}))
    store.miss("w", DAY.name, EVENT.title)
    store.fail("w", DAY.name, EVENT.title, "too late to fail")
    (row,) = store.rows("w")
    assert (row.state, row.late, row.error) == ("received", False, "")
    assert row.position == {"inbox": 1}
    assert row.last_receive_time == NOW
    assert (row.window_start, row.window_end) == (DAY.start, DAY.end)
    engine.dispose()


def test_names_that_no_sql_would_like(url: str) -> None:
    engine = open_database(url)
    store, inbox = StatusStore(engine), Inbox(engine)
    hostile = HttpEvent(name="'; drop table x; -- <b>ü</b>", post="a")
    store.declare("w%", hostile, DAY, None)
    store.receive("w%", DAY.name, hostile.title, ARRIVAL)
    assert store.rows("w%")[0].state == "received"
    assert store.rows("w_") == []
    inbox.take("'\"%", {"a": "'"})
    assert [post.body for post in inbox.find("'\"%", Window("Y").at(inbox._runtime.now()))]
    engine.dispose()


@pytest.mark.parametrize("name", ["a" * 300, "n\0l", "half \ud800"])
def test_names_that_no_table_has_room_for(url: str, name: str) -> None:
    """A run of fifty streams has such a title."""
    engine = open_database(url)
    store = StatusStore(engine)
    event, other = HttpEvent(post=name, name=name), HttpEvent(post="x", name=f"{name}x")
    for one in (event, other):
        store.declare(name, one, DAY, None)
    store.fail(name, DAY.name, event.title, name)
    store.receive(name, DAY.name, event.title, Arrival(time=NOW, position={}, text=name))
    assert [row.state for row in store.rows(name)] == ["received", "waiting"]
    with pytest.raises(ConfigError, match="expected the"):
        Inbox(engine).take(name, {})
    engine.dispose()


def _declare(url: str, name: str) -> None:
    engine = open_database(url)
    store = StatusStore(engine)
    for number in range(20):
        event = HttpEvent(post=f"e{number}", window=Window("D"))
        store.declare("w", event, DAY, None)
        Inbox(engine).take("all", {}, id=f"{number}")
        store.receive("w", DAY.name, event.title, Arrival(time=NOW, position={"by": name}))


@pytest.mark.slow
def test_many_processes_migrate_and_declare_at_once(url: str) -> None:
    """Whoever comes first counts, for each row."""
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_declare, args=(url, f"p{n}")) for n in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
        assert process.exitcode == 0
    engine = open_database(url)
    rows = StatusStore(engine).rows("w")
    assert len(rows) == 20
    assert {row.state for row in rows} == {"received"}
    assert Inbox(engine).last_number() >= 20
    engine.dispose()


def test_the_migrations_make_the_tables_that_the_code_knows(url: str) -> None:
    engine = open_database(url)
    for table in METADATA.tables.values():
        found = {one["name"]: one["nullable"] for one in inspect(engine).get_columns(table.name)}
        assert found == {column.name: bool(column.nullable) for column in table.columns}
        unique = {one["name"] for one in inspect(engine).get_unique_constraints(table.name)}
        wanted = {str(one.name) for one in table.constraints if str(one.name).endswith("_once")}
        assert unique == wanted
    engine.dispose()


def test_tables_of_a_newer_version_are_refused(url: str) -> None:
    engine = open_database(url)
    with engine.begin() as connection:
        connection.execute(text(f"update {VERSION_TABLE} set version_num = '9999'"))
    engine.dispose()
    with pytest.raises(UnsupportedFormat, match="upgrade Singerlake"):
        open_database(url)


def test_tables_that_another_makes_for_too_long_are_away(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "_BUSY_SECONDS", 0.1)
    with (
        FileLock(tmp_path / "waits.db.migration", is_singleton=False),
        pytest.raises(Unavailable, match="try again"),
    ):
        open_database(f"sqlite:///{tmp_path}/waits.db")
    open_database(f"sqlite:///{tmp_path}/waits.db").dispose()


def test_an_upgrade_keeps_what_is_there(tmp_path: Path) -> None:
    """From the first version on: a database made by its migration has rows that stay."""
    url = f"sqlite:///{tmp_path}/waits.db"
    open_database(url).dispose()
    with sqlite3.connect(tmp_path / "waits.db") as database:
        database.execute(
            "insert into singerlake_inbox (post, id, time, received, body) values "
            "('a', '1', '2026-07-07 08:00:00.000000', '2026-07-07 08:00:00.000000', '{}')"
        )
    engine = open_database(url)
    assert not Inbox(engine).take("a", {}, id="1")
    engine.dispose()


@pytest.mark.parametrize("url", ["", "nonsense", "postgresql+nodriver://x", "sqlite:////proc/x/y"])
def test_what_is_no_database_is_an_error(url: str) -> None:
    with pytest.raises((BadLocation, Unavailable), match="database"):
        open_database(url)
