"""Projections: partitions, order and the sizes of files."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from singerlake.errors import InputError
from singerlake.projection.document import Settings
from singerlake.spark.layout import folder
from singerlake.spark.read_published import published, published_files
from tests.spark import projecting
from tests.spark.projecting import TAP, Projector, everything, simple, typed_row


@pytest.fixture(params=["true", "false"], ids=["adaptive", "not adaptive"])
def adaptive(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Spark changes its plan while it runs, or does not."""
    before = spark.conf.get("spark.sql.adaptive.enabled", "true")
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    yield
    spark.conf.set("spark.sql.adaptive.enabled", before or "true")


@pytest.mark.usefixtures("adaptive")
def test_partitions_are_folders_and_files_are_sorted(projector: Projector) -> None:
    projector.land(simple(range(20)), simple(range(20, 50)))
    settings = Settings(
        format="parquet",
        mode="append",
        partition_by=("shop", "_time_extracted:day"),
        sort_by=("id:desc",),
        metadata=("_time_extracted",),
    )
    projector.run(settings=settings)
    found = published(projector.out, TAP, "orders")
    assert {tuple(file.partition.items()) for file in found.files} == {
        (("shop", f"shop {number}"), ("_time_extracted_day", "2026-01-01")) for number in range(3)
    }
    for file in found.files:
        assert f"/shop={file.partition['shop']}/_time_extracted_day=2026-01-01/" in file.path
    # One task has all of a small partition.
    assert len(found.files) == 3
    for path in published_files(projector.out, TAP, "orders"):
        ids = [row.id for row in projector.spark.read.parquet(path).collect()]
        assert ids == sorted(ids, reverse=True)
    assert projector.ids() == list(range(50))


@pytest.mark.usefixtures("adaptive")
def test_sorted_without_partitions_is_sorted_from_file_to_file(projector: Projector) -> None:
    projector.land(simple(reversed(range(30))), simple(reversed(range(30, 50))))
    projector.run(settings=Settings(format="csv", mode="append", sort_by=("id",)))
    assert [row["id"] for row in projector.rows()] == list(range(50))


@pytest.mark.parametrize("mode", ["append", "current"])
def test_columns_with_strange_names_partition_and_sort(projector: Projector, mode: str) -> None:
    projector.land(everything(range(10)))
    settings = Settings(
        format="parquet", mode=mode, partition_by=(".x", "a.b"), sort_by=("a`b", "a.b")
    )
    projector.run("everything", settings)
    rows = sorted(projector.rows("everything"), key=lambda row: row["id"])
    assert rows == [typed_row(number) for number in range(10)]


def test_strange_partition_values_stay_below_the_output(projector: Projector) -> None:
    values = ["a/b", "..", "", None, "ü=%", "x\ny", "c:\\d"]
    schema = {"id": {"type": "integer"}, "v": {"type": ["null", "string"]}}
    records = [
        projecting.record_message("s", {"id": number, "v": value}, number)
        for number, value in enumerate(values)
    ]
    projector.land([projecting.schema_message("s", schema), *records])
    projector.run("s", Settings(format="json", mode="append", partition_by=("v",)))
    assert {row["id"]: row["v"] for row in projector.rows("s")} == dict(enumerate(values))


@pytest.mark.parametrize("sort_by", [(), ("id",)], ids=["as committed", "sorted"])
def test_large_files_are_split_and_follow_each_other(
    projector: Projector, sort_by: tuple[str, ...]
) -> None:
    projector.spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "10")
    try:
        projector.land(simple(range(200)))
        settings = Settings(format="orc", mode="append", sort_by=sort_by)
        done = projector.run(settings=settings, file_bytes=1)
    finally:
        projector.spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert done.files > 5
    assert [row["id"] for row in projector.rows()] == list(range(200))


def test_partition_folders_are_those_of_hive() -> None:
    assert folder([], []) == ""
    assert folder(["a", "b/c"], ["x y", None]) == "a=x y/b%2Fc=__HIVE_DEFAULT_PARTITION__/"
    assert folder(["a"], ["../..\\ü\n"]) == "a=..%2F..%5Cü%0A/"
    # Listings hide what begins with a dot.
    assert folder([".a", "b."], [".x", "y"]) == "%2Ea=.x/b.=y/"


def test_a_folder_that_no_disk_can_hold_is_refused() -> None:
    assert folder(["c" * 40], ["x" * 199])
    with pytest.raises(InputError, match="partition by another column"):
        folder(["c" * 60], ["x" * 199])
