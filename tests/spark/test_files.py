"""Files of any kind in Spark: bytes are read for the rows and the columns that are selected."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from singerlake.errors import ConfigError
from singerlake.files import forget
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.spark import read_files, read_stream
from tests.files.putting import KEYS, STREAM, TAP, blob_key, lake_at, put_bytes
from tests.spark.lakes import land, record_line, schema_line

CONTENTS = {"small": b"s", "middle": b"m" * 1000, "large": b"l" * 100_000}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    lake = lake_at(tmp_path)
    for name, content in CONTENTS.items():
        put_bytes(lake, tmp_path, name, content)
    return tmp_path / "lake"


def test_metadata_and_content(spark: SparkSession, root: Path) -> None:
    frame = read_files(spark, root, TAP, STREAM, metadata=["_sequence"])
    rows = frame.orderBy("size").collect()
    assert {row["name"]: bytes(row["content"]) for row in rows} == CONTENTS
    assert [row["_sequence"] for row in rows] == [1, 2, 3]
    assert [Path(row["path"]).read_bytes() for row in rows] == list(CONTENTS.values())
    assert "_files" not in frame.columns
    vacuum(lake_at(root.parent).store, KEYS, VacuumOptions())
    again = read_files(spark, root, TAP, STREAM).select("name", "content").collect()
    assert {row["name"]: bytes(row["content"]) for row in again} == CONTENTS


def test_only_what_is_selected_is_read(spark: SparkSession, root: Path) -> None:
    """The other bytes are gone: nobody notices who does not ask for them."""
    for name in ("small", "large"):
        (root / blob_key(CONTENTS[name])).unlink()
    frame = read_files(spark, root, TAP, STREAM)
    assert sorted(row["size"] for row in frame.select("name", "size", "path").collect()) == [
        1,
        1000,
        100_000,
    ]
    (row,) = frame.where("size = 1000").select("content").collect()
    assert bytes(row["content"]) == CONTENTS["middle"]
    with pytest.raises(PySparkException, match="MissingFile"):
        frame.select("content").collect()
    lenient = read_files(spark, root, TAP, STREAM, missing="null").select("name", "content")
    found = {row["name"]: row["content"] for row in lenient.collect()}
    assert found == {"small": None, "middle": CONTENTS["middle"], "large": None}


def test_a_guard_on_size(spark: SparkSession, root: Path) -> None:
    frame = read_files(spark, root, TAP, STREAM, max_content_bytes=1000)
    assert frame.where("size <= 1000").select("content").count() == 2
    assert len(frame.where("size <= 1000").select("content").collect()) == 2
    with pytest.raises(PySparkException, match="max_content_bytes allows 1000"):
        frame.select("content").collect()


def test_damaged_bytes_are_an_error(spark: SparkSession, root: Path) -> None:
    (root / blob_key(CONTENTS["small"])).write_bytes(b"x")
    with pytest.raises(PySparkException, match="CorruptFile"):
        read_files(spark, root, TAP, STREAM).select("content").collect()


def test_tombstones_name_no_file(spark: SparkSession, root: Path) -> None:
    lake = lake_at(root.parent)
    first = read_files(spark, root, TAP, STREAM).where("name = 'small'").collect()[0]["id"]
    forget(lake, TAP, STREAM, [first], apply=True)
    frame = read_files(spark, root, TAP, STREAM, missing="null")
    assert frame.count() == 3
    deleted = read_stream(spark, root, TAP, STREAM).where("_sdc_deleted_at is not null")
    assert [row["id"] for row in deleted.collect()] == [first]


def test_a_stream_without_files_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, [schema_line({"id": {"type": "integer"}}), record_line({"id": 1})])
    with pytest.raises(ConfigError, match="marks these properties as files: none"):
        read_files(spark, tmp_path, "tap-test--tests", "things")


def test_the_column_is_the_same_line_by_line(spark: SparkSession, tmp_path: Path) -> None:
    """A value that does not fit sends the lines through the tolerant parser."""
    path = "_files/ab/" + "ab" * 32
    files = f',"singerlake_files":{{"photo":"{path}","bad":"../x"}}}}'.encode()
    lines = [
        schema_line({"id": {"type": "integer"}}),
        record_line({"id": 1})[:-1] + files,
        record_line({"id": "no number"})[:-1] + files,
        record_line({"id": 3}),
        record_line({"id": 4})[:-1] + b',"singerlake_files":5}',
    ]
    land(tmp_path, lines)
    frame = read_stream(spark, tmp_path, "tap-test--tests", "things", metadata=["_files"])
    found = [row["_files"] for row in frame.collect()]
    assert found == [{"photo": path}, {"photo": path}, None, None]
