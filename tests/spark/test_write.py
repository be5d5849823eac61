"""Writing a DataFrame into a lake: one commit, or nothing."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from singerlake import check, open_lake
from singerlake.spark import lend, read_stream
from tests.cli.lake import said
from tests.lineage.receiver import steps
from tests.servers import S3Server
from tests.spark.lakes import STREAM, TAP, land, record_line, rows, schema_line

SCHEMA = """id bigint not null, n double, s string, b boolean, d date, t timestamp,
 dec decimal(20,4), l array<bigint>, m map<string,double>, o struct<x:bigint,y:string>"""
MOMENT = datetime(2026, 11, 16, 2, 54, 14, 123456, tzinfo=timezone.utc)
ROWS: list[tuple[Any, ...]] = [
    (
        1,
        0.1,
        "é\n",
        True,
        date(2026, 11, 16),
        MOMENT,
        Decimal("1234567890123456.7890"),
        [1, None],
        {"k": 1.5},
        (1, "y"),
    ),
    (2, float("inf"), None, None, None, None, None, None, None, None),
]


def save(df: DataFrame, root: Any, **options: str) -> None:
    given = {"tap": TAP, "stream": STREAM, "key_properties": "id", **options}
    df.write.format("singerlake").mode("append").options(**given).save(str(root))


def objects(root: Path) -> list[Path]:
    return sorted(root.rglob("*.singer.gz"))


def test_rows_come_back_as_they_were(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.createDataFrame(ROWS, SCHEMA)
    save(df, tmp_path, run_id="nightly")
    back = read_stream(spark, tmp_path, TAP, STREAM)
    assert back.dtypes == df.dtypes
    assert rows(back, "id") == rows(df, "id")
    lake = open_lake(tmp_path)
    assert check(lake.store).clean
    assert lake.tap(TAP).catalogue()[STREAM]["key_properties"] == ["id"]
    assert {file.run_id for file in lake.stream(TAP, STREAM).snapshot().files()} == {"nightly"}


def test_all_tasks_are_one_commit(spark: SparkSession, tmp_path: Path) -> None:
    save(spark.range(0, 1000, numPartitions=4), tmp_path)
    save(spark.range(1000, 1001, numPartitions=3), tmp_path)
    files = list(open_lake(tmp_path).stream(TAP, STREAM).snapshot().files())
    assert [file.sequence for file in files] == [1, 2, 3, 4, 5]
    assert len({file.committed for file in files}) == 2
    assert sum(file.records for file in files) == 1001
    df = read_stream(spark, tmp_path, TAP, STREAM)
    assert sorted(row["id"] for row in df.collect()) == list(range(1001))
    assert check(open_lake(tmp_path).store).clean


def failing(spark: SparkSession) -> DataFrame:
    """Rows of four tasks, of which the last one fails."""
    return spark.range(0, 1000, numPartitions=4).withColumn(
        "id", f.when(f.col("id") == 900, f.raise_error("no")).otherwise(f.col("id"))
    )


def test_lineage_emit_reports_a_write(spark: SparkSession, tmp_path: Path) -> None:
    """It reports nothing by itself: its commit and its run are in the lake."""
    save(spark.range(3), tmp_path)
    lines = said("lineage", "emit", tmp_path, "--to", "-").splitlines()
    job, commit = f"{TAP}.land", f"{TAP}.land.{STREAM}"
    assert steps([json.loads(line) for line in lines]) == [
        (job, "START"),
        (commit, "START"),
        (commit, "COMPLETE"),
        (job, "COMPLETE"),
    ]


def test_a_failed_task_leaves_nothing(spark: SparkSession, tmp_path: Path) -> None:
    lake = land(tmp_path, [schema_line({"id": {"type": "integer"}}), record_line({"id": 1})])
    before, entries = objects(tmp_path), lake.tap(TAP).catalogue()
    with pytest.raises(PySparkException):
        save(failing(spark), tmp_path)
    assert objects(tmp_path) == before
    assert lake.tap(TAP).catalogue() == entries
    assert check(lake.store).clean


def test_a_first_write_that_fails_leaves_no_record(spark: SparkSession, tmp_path: Path) -> None:
    """A tap without streams and an empty log are left, as docs/spark.md tells."""
    with pytest.raises(PySparkException):
        save(failing(spark), tmp_path)
    lake = open_lake(tmp_path)
    assert objects(tmp_path) == []
    assert [tap.tap_id for tap in lake.taps()] == [TAP]
    assert lake.tap(TAP).streams() == []
    assert read_stream(spark, tmp_path, TAP, STREAM).count() == 0
    assert check(lake.store).clean
    save(spark.range(3), tmp_path)
    assert read_stream(spark, tmp_path, TAP, STREAM).count() == 3
    assert check(lake.store).clean


def test_message_columns_and_metadata(spark: SparkSession, tmp_path: Path) -> None:
    """What was read with its metadata can be written: only the record's columns are records."""
    line = record_line({"id": 1}, "2026-01-01T00:00:00.5Z", version=3)
    land(tmp_path / "a", [schema_line({"id": {"type": "integer"}}), line])
    save(read_stream(spark, tmp_path / "a", TAP, STREAM, metadata=True), tmp_path / "b")
    [found] = rows(
        read_stream(spark, tmp_path / "b", TAP, STREAM, metadata=["_version", "_record"])
    )
    assert found == {"id": 1, "_version": 3, "_record": '{"id":1}'}
    [file] = open_lake(tmp_path / "b").stream(TAP, STREAM).snapshot().files()
    assert file.first == datetime(2026, 1, 1, 0, 0, 0, 500000, tzinfo=timezone.utc)


def test_to_an_object_store(spark: SparkSession, seaweedfs: S3Server) -> None:
    root = f"s3://{seaweedfs.new_bucket()}/lake"
    options = seaweedfs.storage_options()
    save(spark.range(10), root, storage_options=lend(spark, options))
    df = read_stream(spark, root, TAP, STREAM, storage_options=options)
    assert df.count() == 10


def test_what_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(1)
    with pytest.raises(PySparkException, match="there is no column nothing"):
        save(df, tmp_path, key_properties="nothing")
    with pytest.raises(PySparkException, match="a Singer record cannot hold"):
        save(df.selectExpr("id", "interval 1 day as i"), tmp_path)
    writer = df.write.format("singerlake").options(tap=TAP, stream=STREAM)
    with pytest.raises(PySparkException, match="a lake keeps what it has"):
        writer.mode("overwrite").save(str(tmp_path))
    with pytest.raises(PySparkException, match="needs the option tap"):
        df.write.format("singerlake").mode("append").save(str(tmp_path))
    with pytest.raises(PySparkException, match="no option keyproperties"):
        save(df, tmp_path, keyProperties="id")
    with pytest.raises(PySparkException, match="_version is string: expected an integer"):
        save(df.selectExpr("id", "'abc' as _version"), tmp_path)
    assert objects(tmp_path) == []


def test_what_types_read_back_as(spark: SparkSession, tmp_path: Path) -> None:
    """As docs/spark.md tells."""
    df = spark.sql(
        "select 1L id, 1Y a, 2S b, 3 c, cast(0.1 as float) d, 1.50bd e, X'00FF' f, null g,"
        " timestamp_ntz'2026-01-01 12:00:00' h, array(4) i,"
        " named_struct() j"
    )
    save(df, tmp_path)
    back = read_stream(spark, tmp_path, TAP, STREAM)
    assert dict(back.dtypes) == {
        "id": "bigint",
        "a": "bigint",
        "b": "bigint",
        "c": "bigint",
        "d": "double",
        "e": "decimal(3,2)",
        "f": "string",
        "g": "string",
        "h": "timestamp",
        "i": "array<bigint>",
        "j": "string",
    }
    same = df.withColumn("f", f.base64("f")).withColumn("h", f.col("h").cast("timestamp"))
    assert rows(back) == rows(same.withColumn("j", f.lit("{}")))


def test_times_are_kept_whatever_the_zone_of_the_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Long ago, New York was 56 minutes and 2 seconds off the hour."""
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        save(spark.sql("select 1L id, timestamp'1800-01-01 00:00:00Z' t"), tmp_path)
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")
    [found] = read_stream(spark, tmp_path, TAP, STREAM).selectExpr("cast(t as string)").collect()
    assert found["t"] == "1800-01-01 00:00:00"
