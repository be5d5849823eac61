"""Reads by run and as of a moment, in SQL."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from singerlake import open_lake
from singerlake.errors import ConfigError
from singerlake.sql import query
from singerlake.store import open_store
from tests.lake.landing import STREAM, land
from tests.lake.running import land_run


@pytest.fixture
def root(tmp_path: Path) -> Path:
    store = open_store(tmp_path)
    land_run(store, "first", [1, 2], [3])
    land_run(store, "second", [4])
    land_run(store, "broken", [5, 6], outcome="failed")
    return tmp_path


def sequences(root: Path, **options: Any) -> list[int]:
    text = f'select distinct _sequence as s from "{STREAM}" order by s'
    return [row["s"] for row in query(root, text, **options).table.to_pylist()]


def test_the_last_complete_run(root: Path) -> None:
    assert sequences(root) == [1, 2, 3, 4]
    assert sequences(root, mode="last_run") == [3]
    land_run(open_store(root), "third", [7], [8])
    assert sequences(root, mode="last_run") == [5, 6]


def test_as_of_a_number_and_a_run(root: Path) -> None:
    assert sequences(root, as_of=2) == [1, 2]
    assert sequences(root, as_of="run:second") == [1, 2, 3]
    assert sequences(root, as_of="first", mode="last_run") == [1, 2]
    assert sequences(root, as_of="2000-01-01T00:00:00Z") == []
    with pytest.raises(ConfigError, match="no run 'nobody'"):
        sequences(root, as_of="nobody")


@pytest.mark.parametrize("mode", ["append", "current"])
def test_as_of_a_number_there_are_no_columns_that_came_later(root: Path, mode: str) -> None:
    land(open_store(root), [9], version=2)
    whole = query(root, f'from "{STREAM}"', mode=mode, metadata=False)
    assert whole.table.column_names == ["id", "added_in_1", "added_in_2"]
    then = query(root, f'from "{STREAM}"', mode=mode, metadata=False, as_of=4)
    assert then.table.column_names == ["id", "added_in_1"]


def test_as_of_a_pin(root: Path) -> None:
    open_lake(root).pin("p")
    land(open_store(root), [9], version=2)
    land(open_store(root), [1], "later")
    for as_of in ("p", "pin:p"):
        assert sequences(root, as_of=as_of) == [1, 2, 3, 4]
        assert sequences(root, as_of=as_of, mode="last_run") == [3]
    then = query(root, f'from "{STREAM}"', as_of="p", metadata=False).table
    assert then.column_names == ["id", "added_in_1"]
    assert query(root, "from later", as_of="p").table.num_rows == 0
    with pytest.raises(ConfigError, match="no pin 'q'"):
        sequences(root, as_of="pin:q")
