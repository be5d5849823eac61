"""Streams as tables of Spark's catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from singerlake.spark import register
from singerlake.spark.table_options import user_options
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line

OPTIONS = f"tap '{TAP}', stream '{STREAM}', maxMisfits '0'"


@pytest.fixture
def catalogue(spark: SparkSession) -> Iterator[SparkSession]:
    register(spark)
    yield spark
    spark.sql("DROP TABLE IF EXISTS things")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    root = tmp_path / "a lake"
    land(root, [schema_line({"id": {"type": "integer"}}), record_line({"id": 1})])
    return root


@pytest.mark.parametrize(
    "place",
    ["OPTIONS (path '{root}', {options})", "OPTIONS ({options}) LOCATION '{root}'"],
    ids=["path", "location"],
)
def test_a_stream_is_a_table(catalogue: SparkSession, lake: Path, place: str) -> None:
    where = place.format(root=lake, options=OPTIONS)
    more = "COMMENT 'of a lake' TBLPROPERTIES ('team' = 'data', 'columns.count' = '1')"
    catalogue.sql(f"CREATE TABLE things USING singerlake {where} {more}")
    assert [row.id for row in catalogue.sql("SELECT id FROM things").collect()] == [1]
    land(lake, [schema_line({"id": {"type": "integer"}}), record_line({"id": 2})])
    assert catalogue.table("things").count() == 2
    catalogue.sql("DROP TABLE things")
    assert list(lake.rglob("*.singer.gz"))


def test_a_misspelt_option_of_a_table_is_an_error(catalogue: SparkSession, lake: Path) -> None:
    with pytest.raises(PySparkException, match="no option colums"):
        catalogue.sql(
            f"CREATE TABLE things USING singerlake OPTIONS (path '{lake}', {OPTIONS}, colums 'id')"
        )


def test_a_table_is_for_reading(catalogue: SparkSession, lake: Path) -> None:
    catalogue.sql(f"CREATE TABLE things USING singerlake OPTIONS (path '{lake}', {OPTIONS})")
    with pytest.raises(PySparkException, match=r"use df\.write\.format"):
        catalogue.sql("INSERT INTO things VALUES (7)")


def test_urls_stay_and_folders_are_paths() -> None:
    kept = {"provider": "singerlake", "owner": "me", "option.tap": "t", "tap": "t", "a": "b"}
    assert user_options({**kept, "path": "s3://bucket/a%20lake"}) == {
        "tap": "t",
        "path": "s3://bucket/a%20lake",
    }
    assert user_options({**kept, "location": "file:/a lake"})["path"] == "/a lake"
    assert user_options({"Tap": "t", "path": "file:///x"}) == {"Tap": "t", "path": "file:///x"}
