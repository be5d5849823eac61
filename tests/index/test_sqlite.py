"""What only the SQLite file has: its versions, its waits, its damage."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from unittest import mock

import pytest

from singerlake.errors import BadLocation, BusyError, CorruptDocument, UnsupportedFormat
from singerlake.index.open import open_index
from singerlake.index.query import Query, answer
from singerlake.index.storage import migration, sqlite
from singerlake.index.storage.statement import for_postgresql, statements
from tests.index.samples import fill

COLUMNS = "SELECT name FROM pragma_table_info('entries')"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "index.db"


def test_an_older_index_is_brought_to_the_newest_version(path: Path) -> None:
    storage = open_index(f"sqlite:///{path}")
    entries = fill(storage, 1, 5)
    storage.close()
    newer = {**statements("sqlite.sql"), "version_3": "ALTER TABLE entries ADD COLUMN more TEXT"}
    read = statements

    def steps(file: str) -> dict[str, str]:
        return newer if file == "sqlite.sql" else read(file)

    with mock.patch.object(migration, "statements", steps):
        for _ in range(2):
            storage = open_index(f"sqlite:///{path}")
            assert storage.page(Query(), limit=1000) == answer(Query(), entries)
            storage.close()
    with sqlite3.connect(path) as database:
        assert ("more",) in database.execute(COLUMNS).fetchall()
    with pytest.raises(UnsupportedFormat, match="version 3, and 2 is the newest"):
        open_index(f"sqlite:///{path}")


def test_an_interrupted_migration_leaves_the_older_version(path: Path) -> None:
    open_index(f"sqlite:///{path}").close()
    broken = {**statements("sqlite.sql"), "version_3": "CREATE TABLE half (a); CREATE nonsense"}
    read = statements

    def steps(file: str) -> dict[str, str]:
        return broken if file == "sqlite.sql" else read(file)

    with (
        mock.patch.object(migration, "statements", steps),
        pytest.raises(Exception, match="syntax"),
    ):
        open_index(f"sqlite:///{path}")
    open_index(f"sqlite:///{path}").close()


def test_a_writer_waits_for_another_and_then_says_so(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_index(f"sqlite:///{path}")
    monkeypatch.setattr(sqlite, "PATIENCE", 0.1)
    with storage.change("tap", "stream"):
        other = open_index(f"sqlite:///{path}")
        assert other.streams() == []  # who only asks waits for nobody
    with (
        storage.change("tap", "stream"),
        pytest.raises(BusyError, match="another program"),
        other.change("tap", "stream"),
    ):
        pass
    for one in (storage, other):
        one.close()


def test_a_change_within_a_question_is_refused(path: Path) -> None:
    storage = open_index(f"sqlite:///{path}")
    fill(storage, 2, 3)
    entries = storage.entries("tap-a--x", "orders")
    next(entries)
    with (
        pytest.raises(RuntimeError, match="within a question"),
        storage.change("tap-a--x", "orders"),
    ):
        pass
    entries.close()  # type: ignore[attr-defined]
    with storage.change("tap-a--x", "orders") as change:
        assert change.bookmark is not None
    storage.close()


def test_a_file_that_is_no_index(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.write_bytes(b"x" * 5000)
    with pytest.raises(CorruptDocument, match="delete the file"):
        open_index(f"sqlite:///{path}")
    with pytest.raises(BadLocation):
        open_index(f"sqlite:///{tmp_path}")


def test_every_statement_has_a_sentence() -> None:
    folder = Path(sqlite.__file__).parent / "sql"
    for file in folder.iterdir():
        text = file.read_text()
        for part in text.split("-- name: ")[1:]:
            name, sentence, *_ = part.splitlines()
            assert sentence.startswith("-- "), (file.name, name)


def test_parameters_for_postgresql() -> None:
    assert for_postgresql("a % :b AND c = :d_e") == "a %% %(b)s AND c = %(d_e)s"


def test_each_question_uses_an_index(path: Path) -> None:
    """No scan of a whole table, whatever is asked."""
    storage = open_index(f"sqlite:///{path}")
    fill(storage, 3, 20)
    storage.close()
    traced: list[str] = []
    storage = open_index(f"sqlite:///{path}")
    with storage.read() as connection:  # type: ignore[attr-defined]
        connection.raw.set_trace_callback(traced.append)
    for query in (
        Query(tap="tap-a--x", stream="orders", start=1, end=10**13),
        Query(stream="orders", start=1, end=10**13),
        Query(tap="tap-a--x", stream="orders", run_id="run-1"),
        Query(stream="orders", run_id="run-1"),
        Query(tap_pattern="*", start=5),
    ):
        storage.page(query)
    storage.by_id("x")
    storage.latest("tap-a--x", "orders")
    with storage.read() as connection:  # type: ignore[attr-defined]
        connection.raw.set_trace_callback(None)
        asked = [sql for sql in traced if "entries e" in sql]
        assert any("long_by_name" in sql for sql in asked)
        assert any("long_by_stream" in sql for sql in asked)
        for sql in asked:
            plan = connection.raw.execute(f"EXPLAIN QUERY PLAN {sql}").fetchall()
            steps = [row[3] for row in plan]
            assert not [step for step in steps if step.startswith("SCAN")], (sql, steps)
            assert not [step for step in steps if "TEMP B-TREE FOR ORDER" in step] or (
                "max(starts)" in sql
            ), (sql, steps)
    assert len(asked) > 10
    storage.close()
