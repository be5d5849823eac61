"""Files that cannot hold a wanted row are not opened: here they are gone, and nobody minds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from singerlake import open_lake
from singerlake.errors import ConfigError
from singerlake.lake import Selection
from singerlake.spark import read_stream
from singerlake.spark.read import PUSHDOWN
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Ten files, one for each hour, of which two are there: the first, and the eighth, of a schema
    of its own."""
    for hour in range(10):
        properties = {"id": {"type": "integer"}, **({"x": {}} if hour == 7 else {})}
        record = record_line({"id": hour}, f"2026-01-01T{hour:02}:00:00Z")
        land(tmp_path, [schema_line(properties), record])
    for file in open_lake(tmp_path).stream(TAP, STREAM).snapshot().files():
        if file.sequence not in (1, 8):
            (tmp_path / "raw" / TAP / STREAM / file.path).unlink()
    return tmp_path


def hash_of(lake: Path, sequence: int) -> str:
    files = open_lake(lake).stream(TAP, STREAM).snapshot().files(Selection(since=sequence - 1))
    return next(iter(files)).schema_hash


def ids(df: DataFrame) -> list[int]:
    return [row["id"] for row in df.collect()]


def test_options_skip_files(spark: SparkSession, lake: Path) -> None:
    assert ids(read_stream(spark, lake, TAP, STREAM, since=7, until=8)) == [7]
    start, end = "2026-01-01T06:30:00Z", "2026-01-01T08:00:00Z"
    assert ids(read_stream(spark, lake, TAP, STREAM, start=start, end=end)) == [7]
    eighth = [hash_of(lake, 8)]
    assert ids(read_stream(spark, lake, TAP, STREAM, schema_versions=eighth)) == [7]
    latest = read_stream(spark, lake, TAP, STREAM, schema_versions="latest", until=1)
    assert ids(latest) == [0]
    with pytest.raises(PySparkException, match="it is not there"):
        ids(read_stream(spark, lake, TAP, STREAM, since=6, until=8))


FILTERS: list[Callable[[DataFrame, Path], DataFrame]] = [
    lambda df, _: df.where("_sequence = 8"),
    lambda df, _: df.where("_sequence > 7 and _sequence < 9"),
    lambda df, _: df.where("_sequence >= 8 and _sequence <= 8"),
    lambda df, _: df.where("_sequence in (8)"),
    lambda df, _: df.where("_time_extracted = '2026-01-01T07:00:00Z'"),
    lambda df, _: df.where(
        "_time_extracted > '2026-01-01T06:00:01Z' and _time_extracted < '2026-01-01T08:00:00Z'"
    ),
    lambda df, _: df.where(
        "_time_extracted between '2026-01-01T07:00:00Z' and '2026-01-01T07:30:00Z'"
    ),
    lambda df, lake: df.where(f"_schema_hash = '{hash_of(lake, 8)}'"),
    lambda df, lake: df.where(f"_schema_hash in ('{hash_of(lake, 8)}', 'other')"),
]


@pytest.fixture
def pushing(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that hands filters to Python sources."""
    spark.conf.set(PUSHDOWN, "true")
    yield spark
    spark.conf.unset(PUSHDOWN)


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_filters_skip_files_where_that_is_asked_for(
    pushing: SparkSession, lake: Path, number: int
) -> None:
    df = read_stream(pushing, lake, TAP, STREAM, metadata=True, pushFilters=True)
    assert ids(FILTERS[number](df, lake)) == [7]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("_sequence != 3 and id > 6 and _version is null", [7]),
        ("_sequence = 8 or id = 7", [7]),
        ("_sequence = 9", []),
        ("_time_extracted <= timestamp'9999-12-31 23:59:59.999999Z'", [7]),
    ],
)
def test_filters_that_tell_nothing_of_files(
    pushing: SparkSession, lake: Path, condition: str, expected: list[int]
) -> None:
    more = {"metadata": True, "since": 7, "until": 8, "pushFilters": True}
    assert ids(read_stream(pushing, lake, TAP, STREAM, **more).where(condition)) == expected


def test_filters_that_skip_files_need_a_session_that_hands_them_over(
    spark: SparkSession, lake: Path
) -> None:
    with pytest.raises(ConfigError, match=PUSHDOWN):
        read_stream(spark, lake, TAP, STREAM, metadata=True, pushFilters=True)


def test_a_filter_says_nothing_of_the_next_query_on_the_same_dataframe(
    pushing: SparkSession, tmp_path: Path
) -> None:
    """Spark would keep the files of the last filter for every later scan."""
    for number in range(3):
        land(tmp_path, [schema_line({"id": {"type": "integer"}}), record_line({"id": number})])
    df = read_stream(pushing, tmp_path, TAP, STREAM, metadata=True)
    assert ids(df.where("_sequence = 1")) == [0]
    assert ids(df) == [0, 1, 2]
    assert ids(df.where("_sequence = 1").union(df.where("_sequence = 3"))) == [0, 2]


def test_rows_outside_the_time_are_left_out_too(spark: SparkSession, tmp_path: Path) -> None:
    times = [f"2026-01-01T{hour:02}:00:00Z" for hour in range(5)]
    lines = [record_line({"id": hour}, time) for hour, time in enumerate(times)]
    land(tmp_path, [schema_line({"id": {"type": "integer"}}), *lines])
    df = read_stream(spark, tmp_path, TAP, STREAM, start=times[1], end=times[3])
    assert ids(df) == [1, 2]
    assert df.columns == ["id"]
