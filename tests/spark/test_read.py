"""Reading with a real Spark: what the tap sent is what the DataFrame holds."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from singerlake import open_lake
from singerlake.errors import ConfigError, UnknownStream
from singerlake.spark import merge_report, read_stream, read_tap, register
from tests.servers import S3Server
from tests.spark import every_type
from tests.spark.lakes import (
    FIXTURES,
    STREAM,
    TAP,
    activate_line,
    land,
    land_fixture,
    record_line,
    rows,
    schema_line,
    sent_records,
)

UTC = timezone.utc
EVERY_TYPE = [
    schema_line(every_type.PROPERTIES),
    record_line(every_type.RECORD),
    record_line({"id": 2}),
    activate_line(1),
    record_line(every_type.MISFIT),
]


def in_utc(value: Any) -> Any:
    """Spark hands over times without a zone, in the machine's: this one's is set to be UTC."""
    if isinstance(value, datetime):
        return value.astimezone(UTC)
    if isinstance(value, dict):
        return {name: in_utc(inner) for name, inner in value.items()}
    return [in_utc(inner) for inner in value] if isinstance(value, list) else value


ORDERED = ["_record", "_sequence", "_position"]


@pytest.mark.parametrize("place", ["folder", "S3"])
@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*.singer")))
def test_the_streams_of_the_sdk(
    spark: SparkSession, tmp_path: Path, seaweedfs: S3Server, name: str, place: str
) -> None:
    root, options = str(tmp_path), {}
    if place == "S3":
        root, options = f"s3://{seaweedfs.new_bucket()}/lake", seaweedfs.storage_options()
    if land_fixture(root, name, **options) is None:
        pytest.skip("a target has to refuse this one")
    sent = sent_records(name)
    metadata = [*ORDERED, "_corrupt_record"]
    frames = read_tap(spark, root, TAP, metadata=metadata, storage_options=options)
    assert {stream for stream in frames if sent.get(stream)} == set(sent)
    for stream, df in frames.items():
        found = df.orderBy("_sequence", "_position").collect()
        assert [json.loads(row["_record"]) for row in found] == sent.get(stream, [])
        for row, record in zip(found, sent.get(stream, []), strict=True):
            for column in set(df.columns) & set(record):
                assert_same(row[column], record[column], row["_corrupt_record"])


def assert_same(found: Any, sent: Any, corrupt: str | None) -> None:
    """A column has the value that was sent, as its type shows it."""
    if isinstance(found, datetime):
        assert found.astimezone(UTC).isoformat()[:19] == sent[:19].replace(" ", "T")
    elif hasattr(found, "asDict"):
        for name, inner in found.asDict().items():
            assert_same(inner, (sent or {}).get(name), corrupt)
    elif isinstance(found, list):
        assert [str(item) for item in found] == [str(item) for item in sent]
    elif isinstance(found, str) and not isinstance(sent, str):
        assert json.loads(found) == sent
    elif found is None and sent is not None:
        assert corrupt is not None
    else:
        assert found == sent or float(found) == float(sent)


def test_every_type(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    df = read_stream(spark, tmp_path, TAP, STREAM, metadata=["_corrupt_record"])
    found = [in_utc(row) for row in rows(df, "id")]
    assert [row.pop("_corrupt_record") for row in found] == [None, None, every_type.MISFIT]
    assert found == [every_type.EXPECTED, every_type.EMPTY, every_type.MISFIT_EXPECTED]


def test_every_type_from_an_object_store(spark: SparkSession, seaweedfs: S3Server) -> None:
    root = f"s3://{seaweedfs.new_bucket()}/lake"
    land(root, EVERY_TYPE, **seaweedfs.storage_options())
    df = read_stream(
        spark, root, TAP, STREAM, storage_options=seaweedfs.storage_options(), metadata=True
    )
    plans = df._jdf.queryExecution().toString()
    assert seaweedfs.secret not in plans
    found = [in_utc(row) for row in rows(df, "id")]
    everything = [every_type.EXPECTED, every_type.EMPTY, every_type.MISFIT_EXPECTED]
    assert [{name: row[name] for name in every_type.EXPECTED} for row in found] == everything
    assert [row["_position"] for row in found] == [2, 3, 5]


def test_metadata_columns(spark: SparkSession, tmp_path: Path) -> None:
    schema = schema_line({"id": {"type": "integer"}})
    land(tmp_path, [schema, record_line({"id": 1}, "2026-01-02T03:04:05.678901Z", version=9)])
    land(tmp_path, [schema, record_line({"id": 2})])
    df = read_stream(spark, tmp_path, TAP, STREAM, metadata=True)
    first, second = (row.asDict() for row in df.orderBy("id").collect())
    [file, _] = open_lake(tmp_path).stream(TAP, STREAM).snapshot().files()
    assert first == {
        "id": 1,
        "_tap": TAP,
        "_stream": STREAM,
        "_schema_hash": file.schema_hash,
        "_sequence": 1,
        "_file": f"raw/{TAP}/{STREAM}/{file.path}",
        "_position": 2,
        "_time_extracted": first["_time_extracted"],
        "_version": 9,
    }
    assert first["_time_extracted"].astimezone(UTC) == datetime(
        2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC
    )
    assert (second["_sequence"], second["_version"]) == (2, None)


def test_versions_become_one_frame_or_one_is_chosen(spark: SparkSession, tmp_path: Path) -> None:
    """Integers become doubles beside numbers, other than in a key, where no digit may be lost."""
    first = schema_line({name: {"type": "integer"} for name in ("id", "n", "a")})
    second = schema_line(
        {"id": {"type": "number"}, "n": {"type": "number"}, "a": {"type": "string"}, "b": {}}
    )
    land(tmp_path, [first])
    land(
        tmp_path,
        [
            first,
            record_line({"id": 1, "n": 1, "a": 5}),
            second,
            record_line({"id": 2.5, "n": 2.5, "a": "x", "b": [1]}),
        ],
    )
    df = read_stream(spark, tmp_path, TAP, STREAM)
    assert df.dtypes == [
        ("id", "decimal(38,18)"),
        ("n", "double"),
        ("a", "string"),
        ("b", "string"),
    ]
    assert rows(df, "id") == [
        {"id": Decimal(1), "n": 1.0, "a": "5", "b": None},
        {"id": Decimal("2.5"), "n": 2.5, "a": "x", "b": "[1]"},
    ]
    [conflict] = merge_report(tmp_path, TAP, STREAM)
    assert (conflict.column, conflict.merged) == ("a", "string (text)")
    latest = read_stream(spark, tmp_path, TAP, STREAM, schema_versions="latest")
    assert rows(latest, "id") == [{"id": 2.5, "n": 2.5, "a": "x", "b": "[1]"}]
    [oldest, _] = conflict.declared
    one = read_stream(spark, tmp_path, TAP, STREAM, schema_versions=[oldest])
    assert rows(one, "id") == [{"id": 1, "n": 1, "a": 5}]
    with pytest.raises(PySparkException, match="has no schema version nothing"):
        read_stream(spark, tmp_path, TAP, STREAM, schema_versions=["nothing"])
    land(tmp_path, [first, record_line({"id": 3, "n": 3, "a": 3})])
    back = read_stream(spark, tmp_path, TAP, STREAM, schema_versions="latest")
    assert [row["id"] for row in rows(back, "id")] == [1, 3]


def test_only_the_columns_that_are_asked_for(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    df = read_stream(spark, tmp_path, TAP, STREAM, columns=["number", "id"])
    assert df.columns == ["number", "id"]
    assert [row["id"] for row in rows(df, "id")] == [1, 2, 3]
    with pytest.raises(PySparkException, match="has no column nonsense; it has id, string"):
        read_stream(spark, tmp_path, TAP, STREAM, columns=["nonsense"])
    assert read_stream(spark, tmp_path, TAP, STREAM).count() == 3


def test_a_schema_of_ones_own(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    register(spark)
    reader = spark.read.format("singerlake").options(tap=TAP, stream=STREAM)
    df = reader.schema("id string, cents double, extra bigint, _sequence bigint").load(
        str(tmp_path)
    )
    assert rows(df, "id")[0] == {"id": "1", "cents": 12.3, "extra": None, "_sequence": 1}


def test_a_metadata_column_of_another_type_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    register(spark)
    reader = spark.read.format("singerlake").options(tap=TAP, stream=STREAM)
    with pytest.raises(PySparkException, match=r"_sequence cannot be read as int: read it as bigi"):
        reader.schema("id string, _sequence int").load(str(tmp_path)).collect()


def test_failfast_names_file_and_line(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    df = read_stream(spark, tmp_path, TAP, STREAM, mode="failfast")
    found = r"integer .bigint. 1, such as .*\.singer\.gz, line 5"
    with pytest.raises(PySparkException, match=found):
        df.collect()


def test_a_record_without_declared_properties_is_text(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, [schema_line({}, keys=[]), record_line('{"a": 1.50}')])
    df = read_stream(spark, tmp_path, TAP, STREAM)
    assert rows(df) == [{"_record": '{"a": 1.50}'}]


def test_names_that_differ_in_case_only(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, [schema_line({"id": {}, "ID": {}}), record_line({"id": 1, "ID": 2})])
    with pytest.raises(PySparkException, match="the columns id and ID, which Spark takes for the"):
        read_stream(spark, tmp_path, TAP, STREAM)
    assert rows(read_stream(spark, tmp_path, TAP, STREAM, columns=["ID"])) == [{"ID": "2"}]
    spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        df = read_stream(spark, tmp_path, TAP, STREAM)
        assert rows(df, "id") == [{"id": "1", "ID": "2"}]
    finally:
        spark.conf.set("spark.sql.caseSensitive", "false")


def test_an_empty_stream(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, [schema_line({"id": {"type": "integer"}})])
    df = read_stream(spark, tmp_path, TAP, STREAM)
    assert (df.dtypes, df.count()) == ([("id", "bigint")], 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "lenient"}, "expected permissive or failfast"),
        ({"metadata": ["_nothing"]}, "there is no metadata column _nothing"),
        ({"start": "yesterday"}, "expected a time like"),
        ({"since": -1}, "expected a number from 0"),
        ({"nonsense": 1}, "has no option nonsense"),
        ({"maxPartitionBytes": 0}, "expected a number from 1"),
        ({"columns": []}, "columns names none"),
    ],
)
def test_wrong_options_are_refused(
    spark: SparkSession, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        read_stream(spark, tmp_path, TAP, STREAM, **options)


def test_metadata_alone_has_a_row_for_each_record(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    df = read_stream(spark, tmp_path, TAP, STREAM, columns=[], metadata=["_position"])
    assert (df.columns, df.count()) == (["_position"], 3)


@pytest.mark.parametrize("schema", ["id bigint not null", "a struct<b: bigint not null>"])
def test_a_schema_of_the_user_that_allows_no_null_is_refused(
    spark: SparkSession, tmp_path: Path, schema: str
) -> None:
    """Java would fail on the first null, or take `is null` for false."""
    land(tmp_path, [schema_line({"id": {}, "a": {}}), record_line({"id": None, "a": {"b": None}})])
    reader = spark.read.format("singerlake").options(tap=TAP, stream=STREAM).schema(schema)
    with pytest.raises(PySparkException, match="read it as nullable"):
        reader.load(str(tmp_path)).collect()


def test_a_property_named_like_metadata(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, [schema_line({"_sequence": {"type": "integer"}}), record_line({"_sequence": 7})])
    assert rows(read_stream(spark, tmp_path, TAP, STREAM)) == [{"_sequence": 7}]
    with pytest.raises(PySparkException, match="_sequence is a metadata column too"):
        read_stream(spark, tmp_path, TAP, STREAM, metadata=["_sequence"])


def test_what_is_not_there(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    with pytest.raises(PySparkException, match=f"no stream 'other'; there are {STREAM}"):
        read_stream(spark, tmp_path, TAP, "other")
    with pytest.raises(PySparkException, match=f"Did you mean '{STREAM}'"):
        read_stream(spark, tmp_path, TAP, STREAM[:-1])
    with pytest.raises(PySparkException, match="NotALake"):
        read_stream(spark, tmp_path / "nowhere", TAP, STREAM)
    with pytest.raises(PySparkException, match=r"no column idd.* Did you mean 'id'"):
        read_stream(spark, tmp_path, TAP, STREAM, columns=["idd"]).collect()
    with pytest.raises(UnknownStream):
        merge_report(tmp_path, TAP, "other")
    df = read_stream(spark, tmp_path, TAP, STREAM)
    for path in tmp_path.rglob("*.gz"):
        path.unlink()
    with pytest.raises(PySparkException, match="the manifest names this file, and it is not there"):
        df.collect()


def test_a_frame_holds_its_snapshot(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, EVERY_TYPE)
    df = read_stream(spark, tmp_path, TAP, STREAM)
    land(tmp_path, EVERY_TYPE)
    assert (df.count(), read_stream(spark, tmp_path, TAP, STREAM).count()) == (3, 6)


def test_plain_spark_reads_the_files_too(spark: SparkSession, tmp_path: Path) -> None:
    """As docs/spark.md shows it, for people without this package; gzip of several members."""
    lines = [schema_line({"id": {"type": "integer"}, "pad": {"type": "string"}})]
    lines += [record_line({"id": n, "pad": f"{n:0>1000}"}) for n in range(1000)]
    land(tmp_path, lines)
    [path] = tmp_path.rglob("*.singer.gz")
    assert path.read_bytes().count(b"\x1f\x8b\x08") > 3
    messages = spark.read.option("pathGlobFilter", "*.singer*").json(
        f"{tmp_path}/raw/{TAP}/{STREAM}/*/"
    )
    records = messages.where("type = 'RECORD'").select("record.*")
    assert sorted(row["id"] for row in records.collect()) == list(range(1000))
