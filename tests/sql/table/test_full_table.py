"""Current rows of full tables in SQL: those of the newest complete run, as in Spark."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError
from singerlake.sql import query
from singerlake.store import open_store
from tests.lake.landing import STREAM
from tests.spark.test_full_table import send


def ids(root: Path, **options: Any) -> list[int]:
    text = f'select id from "{STREAM}" order by id'
    return [
        row["id"] for row in query(root, text, **{"mode": "current", **options}).table.to_pylist()
    ]


def test_the_newest_complete_run_is_the_table(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    send(store, "one", 1, 2, 2)
    assert ids(tmp_path) == [1, 2, 2]
    send(store, "died", 7, outcome="failed")
    assert ids(tmp_path) == [1, 2, 2]
    assert ids(tmp_path, run_outcomes=["failed"]) == [7]
    send(store, "two", 2, 3)
    assert ids(tmp_path) == [2, 3]
    assert ids(tmp_path, as_of="one") == [1, 2, 2]
    assert ids(tmp_path, mode="append") == [1, 2, 2, 2, 3, 7]
    send(store, "empty")
    assert ids(tmp_path) == []


def test_where_nobody_knows_a_warning_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    send(store, "one", 1, bookmark=None)
    send(store, "two", 1, bookmark=None)
    with caplog.at_level(logging.WARNING, "singerlake.sql"):
        assert ids(tmp_path) == [1, 1]
    assert "Set replication_method" in caplog.text
    caplog.clear()
    assert ids(tmp_path, replication_method="full_table") == [1]
    assert caplog.text == ""
    with pytest.raises(ConfigError, match="full_table, incremental"):
        ids(tmp_path, replication_method="full")
