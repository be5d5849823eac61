"""Full tables without ACTIVATE_VERSION: what is current is what the last complete run sent."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from singerlake.errors import ConfigError
from singerlake.lake import Lake
from singerlake.lake.vacuum import vacuum
from singerlake.projection.document import Settings
from singerlake.spark import read_current
from singerlake.spark.project import Projection, project
from singerlake.spark.read_published import read_published_arrow
from singerlake.sql import query
from singerlake.store import Store, open_store
from tests.lake.landing import KEYS, STREAM, TAP, schema_line
from tests.lake.merging import OPTIONS, purge_at_once
from tests.lake.running import Running

KEYLESS = json.dumps(json.loads(schema_line()) | {"key_properties": []}).encode()
CURRENT = Settings(format="parquet", mode="current")


def send(
    store: Store,
    run_id: str,
    *numbers: int,
    outcome: Any = "complete",
    bookmark: bool | None = False,
    schema: bytes = KEYLESS,
) -> None:
    run = Running(store, run_id, schema=schema)
    if numbers:
        run.commit(numbers)
    run.end(outcome, bookmark)


def ids(spark: SparkSession, root: Path, **options: Any) -> list[int]:
    return sorted(row["id"] for row in read_current(spark, root, TAP, STREAM, **options).collect())


def test_rows_that_are_gone_at_the_source_are_gone(spark: SparkSession, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    send(store, "one", 1, 2, 3, 3)
    send(store, "two", 1, 3, 4)
    send(store, "died", 1, outcome="ended")
    assert ids(spark, tmp_path) == [1, 3, 4]
    assert ids(spark, tmp_path, as_of="one") == [1, 2, 3, 3]
    assert ids(spark, tmp_path, run_outcomes=["ended"]) == [1]
    assert ids(spark, tmp_path, replication_method="incremental") == [1, 1, 1, 2, 3, 3, 3, 4]
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    assert ids(spark, tmp_path, columns=["id"]) == [1, 3, 4]


@pytest.mark.parametrize("keys", [[], ["id"]])
def test_a_version_counts_once_its_load_is_whole(
    spark: SparkSession, tmp_path: Path, keys: list[str]
) -> None:
    store = open_store(tmp_path)
    schema = json.dumps(json.loads(schema_line()) | {"key_properties": keys}).encode()

    def row(number: int, version: int) -> bytes:
        message = {"type": "RECORD", "stream": STREAM, "record": {"id": number}}
        return json.dumps(message | {"version": version}).encode()

    def activate(version: int) -> bytes:
        message = {"type": "ACTIVATE_VERSION", "stream": STREAM, "version": version}
        return json.dumps(message).encode()

    def load(run_id: str, *lines: bytes, outcome: Any = "complete") -> None:
        run = Running(store, run_id, schema=schema)
        for line in (schema, *lines):
            run.writer.write(line)
        run.sequences += [file.sequence for file in run.writer.commit()]
        run.end(outcome, bookmark=False)

    def current() -> list[int]:
        select = f'select id from "{STREAM}" order by all'
        by_sql = query(tmp_path, select, mode="current").table.column("id").to_pylist()
        assert ids(spark, tmp_path) == by_sql
        return by_sql

    load("one", row(1, 10), row(2, 10), activate(10))
    assert current() == [1, 2]
    # A load that died, and another that had activated its version before it died.
    load("died", row(1, 20), row(3, 20), outcome="ended")
    assert current() == [1, 2]
    load("died first", activate(30), row(4, 30), outcome="ended")
    assert current() == [1, 2]
    # A tap that goes on where it was: one version, sent by two runs.
    load("half", row(1, 40), row(5, 40), outcome="ended")
    load("other half", row(6, 40), activate(40))
    assert current() == [1, 5, 6]


def test_where_nobody_knows_it_is_as_before_with_a_warning(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(tmp_path)
    send(store, "one", 1, bookmark=None)
    send(store, "two", 1, bookmark=None)
    with caplog.at_level(logging.WARNING, "singerlake.spark"):
        assert ids(spark, tmp_path) == [1, 1]
    assert "Set replication_method" in caplog.text
    caplog.clear()
    assert ids(spark, tmp_path, replication_method="full_table") == [1]
    assert caplog.text == ""


def published(
    spark: SparkSession | None, root: Path, settings: Settings = CURRENT, **more: Any
) -> tuple[Projection, list[int]]:
    out = root / "out"
    done = project(spark, root, out, TAP, STREAM, settings, **more)
    if spark is None:
        return done, []
    found = read_published_arrow(out, TAP, STREAM)
    return done, sorted(found.column("id").to_pylist())


@pytest.mark.slow
def test_each_complete_run_replaces_the_table(spark: SparkSession, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    send(store, "one", 1, 2, 2)
    assert published(spark, tmp_path)[1] == [1, 2, 2]
    send(store, "died", 7, outcome="failed")
    assert published(spark, tmp_path)[1] == [1, 2, 2]
    send(store, "two", 2, 3)
    assert published(spark, tmp_path)[1] == [2, 3]
    assert published(spark, tmp_path)[0].status == "unchanged"
    send(store, "empty")
    done, rows = published(spark, tmp_path)
    assert (done.status, rows) == ("published", [])
    assert published(spark, tmp_path)[0].status == "unchanged"
    send(store, "three", 5)
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    assert published(spark, tmp_path)[1] == [5]


@pytest.mark.slow
def test_the_last_run_as_it_was_sent(spark: SparkSession, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    send(store, "one", 1, 1, bookmark=True, schema=schema_line())
    last = Settings(format="parquet", mode="last_run", metadata=("_run_id",))
    assert published(spark, tmp_path, last)[1] == [1, 1]
    send(store, "two", 2, 2, 3, bookmark=True, schema=schema_line())
    send(store, "died", 4, outcome="stopped", schema=schema_line())
    done, rows = published(spark, tmp_path, last)
    assert (rows, done.raw_records) == ([2, 2, 3], 3)
    assert published(spark, tmp_path, last, as_of="one", full=True)[1] == [1, 1]
    planned, _ = published(None, tmp_path, last, run_outcomes=["stopped"])
    assert planned.raw_records == 1


def test_without_a_complete_run_nothing_is_published(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    send(store, "died", 1, outcome="ended")
    last = Settings(format="parquet", mode="last_run")
    with pytest.raises(ConfigError, match="expected a run that is complete"):
        published(None, tmp_path, last)
    assert Lake(store).stream(TAP, STREAM).snapshot().manifest.last_sequence == 1
