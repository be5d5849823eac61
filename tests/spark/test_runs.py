"""Spark reads by run and as of a moment, with the columns of a commit, also after a vacuum."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from singerlake.errors import ConfigError, UnknownStream
from singerlake.lake.vacuum import vacuum
from singerlake.spark import count, read_current, read_stream
from singerlake.store import open_store
from tests.lake.landing import EPOCH, KEYS, STREAM, TAP, land
from tests.lake.merging import OPTIONS, purge_at_once
from tests.lake.running import Running, land_run


@pytest.fixture(params=["as it was committed", "after a vacuum"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """Two runs beside each other, of which one is complete, and one that died."""
    store = open_store(tmp_path)
    land_run(store, "first", [0, 1])
    one, two = Running(store, "one"), Running(store, "two")
    for number in range(2, 8, 2):
        one.commit([number])
        two.commit([number + 1])
    one.end()
    two.end("failed")
    land_run(store, "dead", [8], outcome=None)
    if request.param == "after a vacuum":
        vacuum(store, KEYS, OPTIONS)
        purge_at_once(store)
    return tmp_path


def ids(df: DataFrame) -> list[int]:
    return sorted(row["id"] for row in df.collect())


def test_by_run_as_of_and_with_the_columns_of_a_commit(spark: SparkSession, root: Path) -> None:
    def of(**options: Any) -> list[int]:
        return ids(read_stream(spark, root, TAP, STREAM, **options))

    assert of(runs="last") == [2, 4, 6]
    assert of(runs=["two", "first"]) == [0, 1, 3, 5, 7]
    assert of(as_of="first") == [0, 1]
    assert of(as_of=4) == [0, 1, 2, 3, 4]
    assert of(runs="last", run_outcomes=["failed"]) == [3, 5, 7]
    found = read_stream(spark, root, TAP, STREAM, metadata=["_run_id", "_committed", "_sequence"])
    rows = sorted(found.collect(), key=lambda row: row["id"])
    assert [row["_run_id"] for row in rows] == [
        "first", "first", "one", "two", "one", "two", "one", "two", "dead"
    ]  # fmt: skip
    assert [row["_sequence"] for row in rows] == [1, 1, 2, 3, 4, 5, 6, 7, 8]
    times = [row["_committed"] for row in rows]
    assert times == sorted(times)
    moment = found.where("_sequence = 3").selectExpr("cast(_committed as string) as t").first()
    assert moment is not None
    assert of(as_of=f"{moment['t']}+00:00") == [0, 1, 2, 3]


OPTIONS_THAT_SELECT: list[dict[str, Any]] = [
    {},
    {"since": 2, "until": 6},
    {"runs": "last"},
    {"runs": ["two", "first"]},
    {"run_id": "two"},
    {"runs": "last", "run_outcomes": ["failed"]},
    {"as_of": "first"},
    {"as_of": 4},
    {"sequences": [(1, 2), (5, 5)]},
    {"schema_versions": "latest"},
    {"start": EPOCH + timedelta(seconds=1), "end": "2026-01-01T00:00:05Z"},
]


def test_a_count_without_spark_is_that_of_a_read(spark: SparkSession, root: Path) -> None:
    for given in OPTIONS_THAT_SELECT:
        expected = read_stream(spark, root, TAP, STREAM, **given).count()
        assert count(root, TAP, STREAM, **given) == expected, given
    for file in root.glob("raw/**/*.singer.gz"):
        file.unlink()
    assert count(root, TAP, STREAM, runs="last") == 3
    assert count(str(root), TAP, STREAM, run_id="two", storage_options={}) == 3


def test_a_count_refuses_what_a_read_refuses(root: Path) -> None:
    with pytest.raises(UnknownStream):
        count(root, TAP, "other")
    with pytest.raises(ConfigError, match="no run 'none'"):
        count(root, TAP, STREAM, runs=["none"])
    with pytest.raises(ConfigError, match="the option start"):
        count(root, TAP, STREAM, start="yesterday")
    with pytest.raises(ConfigError, match="no schema version"):
        count(root, TAP, STREAM, schema_versions=["none"])


def test_as_options_of_the_source(spark: SparkSession, root: Path) -> None:
    source = spark.read.format("singerlake").option("tap", TAP).option("stream", STREAM)
    assert ids(source.option("runs", "last").load(str(root))) == [2, 4, 6]
    assert ids(source.option("runs", "all").option("asOf", "run:first").load(str(root))) == [0, 1]
    with pytest.raises(PySparkException, match="no run 'none'"):
        ids(source.option("runs", "none").load(str(root)))


def test_what_cannot_be_is_refused(spark: SparkSession, root: Path) -> None:
    with pytest.raises(ConfigError, match="the option sequences"):
        read_stream(spark, root, TAP, STREAM, sequences="1-5")
    stream = spark.readStream.format("singerlake").option("tap", TAP).option("stream", STREAM)
    query = stream.option("runs", "last").load(str(root)).writeStream.format("noop")
    with pytest.raises(PySparkException, match="are for batch reads"):
        query.option("checkpointLocation", str(root / "c")).start().processAllAvailable()


def test_as_of_a_number_there_are_no_columns_that_came_later(
    spark: SparkSession, root: Path
) -> None:
    land(open_store(root), [9], version=2)
    for read in (read_stream, read_current):
        assert read(spark, root, TAP, STREAM).columns == ["id", "added_in_1", "added_in_2"]
        for asked in ("all", "latest"):
            then = read(spark, root, TAP, STREAM, as_of=4, schema_versions=asked)
            assert then.columns == ["id", "added_in_1"]
            assert ids(then) == [0, 1, 2, 3, 4]
