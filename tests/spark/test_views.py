"""What is current: the latest row of each key, without deleted rows and replaced versions."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyspark.sql import SparkSession

from singerlake import open_lake
from singerlake.errors import ConfigError
from singerlake.spark import current, read_current, read_stream
from singerlake.spark.views import NEEDED
from singerlake.sql import query
from tests.spark.lakes import STREAM, TAP, activate_line, land, record_line, rows, schema_line

SCHEMA = schema_line(
    {
        "id": {"type": "integer"},
        "v": {"type": "string"},
        "_sdc_deleted_at": {"type": ["null", "string"], "format": "date-time"},
    }
)
NUMBER = {"type": "number"}
DELETED = "2026-01-01T00:00:00Z"


def test_the_latest_row_of_each_key(spark: SparkSession, tmp_path: Path) -> None:
    """By commit order: the time of extraction, and where Spark reads it, do not matter."""
    land(
        tmp_path,
        [
            SCHEMA,
            record_line({"id": 1, "v": "old"}, "2026-02-01T00:00:00Z"),
            record_line({"id": 2, "v": "first"}),
            record_line({"id": 2, "v": "second"}),
            record_line({"id": 3, "v": "here"}),
        ],
    )
    land(tmp_path, [SCHEMA, record_line({"id": 1, "v": "new"}, "2026-01-01T00:00:00Z")])
    land(tmp_path, [SCHEMA, record_line({"id": 3, "v": "gone", "_sdc_deleted_at": DELETED})])
    found = read_current(spark, tmp_path, TAP, STREAM, columns=["id", "v"])
    assert rows(found, "id") == [{"id": 1, "v": "new"}, {"id": 2, "v": "second"}]
    land(tmp_path, [SCHEMA, record_line({"id": 3, "v": "back"})])
    again = read_current(spark, tmp_path, TAP, STREAM, metadata=["_sequence"])
    assert [row["_sequence"] for row in rows(again, "id")] == [2, 1, 4]
    then = read_current(spark, tmp_path, TAP, STREAM, until=1)
    assert [row["v"] for row in rows(then, "id")] == ["old", "second", "here"]


def test_a_table_version_replaces_those_before(spark: SparkSession, tmp_path: Path) -> None:
    land(
        tmp_path,
        [
            SCHEMA,
            record_line({"id": 1, "v": "ACTIVATE_VERSION"}, version=10),
            record_line({"id": 2, "v": "b"}, version=10),
            activate_line(10),
        ],
    )
    land(tmp_path, [SCHEMA, record_line({"id": 1, "v": "half"}, version=20)])

    def values() -> list[str]:
        return [row["v"] for row in rows(read_current(spark, tmp_path, TAP, STREAM), "id")]

    assert values() == ["half", "b"]
    land(tmp_path, [SCHEMA, record_line({"id": 1, "v": "whole"}, version=20), activate_line(20)])
    assert values() == ["whole"]


def test_without_keys_a_version_counts_when_it_is_activated(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Nothing would replace the older rows: they would be there twice."""
    schema = schema_line({"id": {"type": "integer"}}, keys=[])
    land(tmp_path, [schema, record_line({"id": 1}, version=10), activate_line(10)])
    land(tmp_path, [schema, record_line({"id": 1}, version=20)])
    expected = [{"id": 1}]
    assert rows(read_current(spark, tmp_path, TAP, STREAM)) == expected
    by_sql = query(tmp_path, f"select id from {STREAM}", mode="current")
    assert by_sql.table.to_pylist() == expected


def test_without_keys_every_row_is_current(spark: SparkSession, tmp_path: Path) -> None:
    schema = schema_line({"id": {"type": "integer"}}, keys=[])
    land(tmp_path, [schema, record_line({"id": 1}), record_line({"id": 1})])
    assert rows(read_current(spark, tmp_path, TAP, STREAM)) == [{"id": 1}, {"id": 1}]
    assert rows(read_current(spark, tmp_path, TAP, STREAM, keys=["id"])) == [{"id": 1}]


def test_current_says_what_it_needs(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, [SCHEMA, record_line({"id": 1})])
    with pytest.raises(ConfigError, match="has no column _sequence, _position"):
        current(read_stream(spark, tmp_path, TAP, STREAM), ["id"])


def test_keys_that_do_not_fit_their_type_are_told_apart(
    spark: SparkSession, tmp_path: Path
) -> None:
    ids = ["a1", "a2", 2**70, 2**70 + 1, 2, "a1"]
    lines = [record_line({"id": key, "v": f"v{n}"}) for n, key in enumerate(ids)]
    land(tmp_path, [SCHEMA, *lines])
    found = read_current(spark, tmp_path, TAP, STREAM, columns=["v"])
    assert rows(found, "v") == [{"v": f"v{n}"} for n in (1, 2, 3, 4, 5)]


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("number", "1e-20", "2e-20"),
        ("array", '["a"]', '["b"]'),
        ("object", '{"k": "a"}', '{"k": "b"}'),
        ("integer", '"a"', '"b"'),
    ],
)
def test_a_key_that_does_not_fit_in_part_is_told_apart(
    spark: SparkSession, tmp_path: Path, kind: str, first: str, second: str
) -> None:
    """Also where another value is one that only Python's JSON reads."""
    inner = {"items": {"type": "integer"}, "properties": {"k": {"type": "integer"}}}
    schema = schema_line({"id": {"type": kind, **inner}, "v": {"type": "string"}})
    texts = [(first, "old"), (second, "other"), (first, "new")]
    lines = [record_line(f'{{"x": NaN, "id": {text}, "v": "{v}"}}') for text, v in texts]
    land(tmp_path, [schema, *lines])
    found = read_current(spark, tmp_path, TAP, STREAM, columns=["v"])
    assert [row["v"] for row in rows(found, "v")] == ["new", "other"]


def test_records_without_a_key_stay(spark: SparkSession, tmp_path: Path) -> None:
    records = [{"v": "a"}, {"v": "b"}, {"id": None, "v": "b"}, {"id": 1, "v": "c"}]
    land(tmp_path, [SCHEMA, *map(record_line, records)])
    found = read_current(spark, tmp_path, TAP, STREAM, columns=["v"])
    assert [row["v"] for row in rows(found, "v")] == ["a", "b", "b", "c"]


def test_a_part_of_a_key_may_be_null(spark: SparkSession, tmp_path: Path) -> None:
    schema = schema_line({"a": {"type": "integer"}, "b": {}, "v": {}}, keys=("a", "b"))
    records = [{"a": 1, "v": "old"}, {"a": 1, "b": None, "v": "new"}, {"a": 1, "b": 2, "v": "x"}]
    land(tmp_path, [schema, *map(record_line, records)])
    found = read_current(spark, tmp_path, TAP, STREAM, columns=["v"])
    assert [row["v"] for row in rows(found, "v")] == ['"new"', '"x"']


def test_a_mark_of_deletion_that_does_not_fit_its_type_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    marks = [1767225600, "Thu, 01 Jan 2026 00:00:00 GMT", None]
    lines = [record_line({"id": n, "_sdc_deleted_at": mark}) for n, mark in enumerate(marks)]
    land(tmp_path, [SCHEMA, *lines])
    assert [row["id"] for row in rows(read_current(spark, tmp_path, TAP, STREAM), "id")] == [2]


def test_numbers_as_keys_are_exact_across_versions(spark: SparkSession, tmp_path: Path) -> None:
    for kind, first in (("integer", 2**53), ("number", 2**53 + 2)):
        schema = schema_line({"id": {"type": kind}, "v": {"type": "string"}})
        land(tmp_path, [schema, *(record_line({"id": first + n, "v": "x"}) for n in range(2))])
    land(tmp_path, [schema, record_line({"id": float(2**53), "v": "new"})])
    found = rows(read_current(spark, tmp_path, TAP, STREAM), "id")
    assert [(int(row["id"]) - 2**53, row["v"]) for row in found] == [
        (0, "new"),
        (1, "x"),
        (2, "x"),
        (3, "x"),
    ]


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (NUMBER, "{}"),
        ({"type": "object", "properties": {"n": NUMBER}}, '{{"n": {}}}'),
        ({"type": "array", "items": NUMBER}, "[{}]"),
        (
            {"type": "array", "items": {"type": "object", "properties": {"n": NUMBER}}},
            '[{{"n": {}}}]',
        ),
    ],
    ids=["number", "object", "array", "array of objects"],
)
@pytest.mark.parametrize("keys", [["k"], None], ids=["given", "declared"])
def test_numbers_in_keys_are_exact(
    spark: SparkSession, tmp_path: Path, keys: list[str] | None, declared: Any, value: str
) -> None:
    schema = schema_line({"k": declared, "v": {"type": "string"}}, keys=() if keys else ("k",))
    sent = [(2**53, "old"), (2**53 + 1, "other"), (2**53, "new")]
    texts = [f'{{"k": {value.format(number)}, "v": "{v}"}}' for number, v in sent]
    land(tmp_path, [schema, *map(record_line, texts)])
    found = read_current(spark, tmp_path, TAP, STREAM, keys=keys, columns=["v"])
    assert [row["v"] for row in rows(found, "v")] == ["new", "other"]


def test_current_refuses_keys_that_are_not_exact(spark: SparkSession, tmp_path: Path) -> None:
    properties = {"n": NUMBER, "a": {"type": "array", "items": NUMBER}}
    sent = [{"n": 2**53 + more, "a": [2**53 + more]} for more in (0, 1, 0)]
    land(tmp_path, [schema_line(properties, keys=()), *map(record_line, sent)])
    frame = read_stream(spark, tmp_path, TAP, STREAM, metadata=NEEDED)
    narrow = frame.selectExpr("cast(n as float) as n", "_sequence", "_position")
    for made, key in ((frame, "n"), (frame, "a"), (narrow, "n")):
        with pytest.raises(ConfigError, match=r'numbers="decimal"'):
            current(made, [key])
    exact = read_stream(spark, tmp_path, TAP, STREAM, metadata=NEEDED, numbers="decimal")
    for key in properties:
        assert current(exact, [key]).count() == 2


def test_an_object_is_compared_by_its_declared_members(spark: SparkSession, tmp_path: Path) -> None:
    """Others are in no column."""
    key = {"type": "object", "properties": {"n": {"type": "integer"}}}
    schema = schema_line({"id": key, "v": {"type": "string"}})
    keys = [{"n": 1, "other": 1}, {"n": 1, "other": 2}, {"n": 2, "other": 2}]
    land(tmp_path, [schema, *(record_line({"id": k, "v": f"{n}"}) for n, k in enumerate(keys))])
    found = read_current(spark, tmp_path, TAP, STREAM, columns=["v"])
    assert [row["v"] for row in rows(found, "v")] == ["1", "2"]


def test_the_keys_are_those_that_were_sent_last(spark: SparkSession, tmp_path: Path) -> None:
    """A tap that was upgraded and set back has an older version's keys again."""
    one, two = (schema_line({"id": {}, "v": {}}, keys=keys) for keys in (["id"], ["id", "v"]))
    for schema, value in ((one, "a"), (two, "b"), (one, "c")):
        land(tmp_path, [schema, record_line({"id": 1, "v": value})])
    assert [row["v"] for row in rows(read_current(spark, tmp_path, TAP, STREAM), "v")] == ['"c"']


@pytest.mark.parametrize("name", ["schema_versions", "schemaVersions", "SCHEMAVERSIONS"])
def test_a_version_that_another_schema_activated_replaces_too(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """However the option that chooses the schema is written."""
    land(tmp_path, [SCHEMA, *(record_line({"id": n, "v": "old"}, version=1) for n in (1, 2))])
    other = schema_line({"id": {"type": "integer"}, "more": {}})
    land(tmp_path, [other, record_line({"id": 1}, version=2), activate_line(2)])
    first = open_lake(tmp_path).stream(TAP, STREAM).snapshot().manifest.files[0].schema_hash
    chosen: dict[str, Any] = {name: [first]}
    assert rows(read_current(spark, tmp_path, TAP, STREAM, **chosen), "id") == []


@pytest.mark.parametrize("key", ["m", "nothing"])
def test_a_key_that_tells_no_rows_apart_is_refused(
    spark: SparkSession, tmp_path: Path, key: str
) -> None:
    schema = schema_line({"m": {"type": "object", "additionalProperties": NUMBER}}, keys=[key])
    land(tmp_path, [schema, record_line({"m": {"a": 1}})])
    with pytest.raises(ConfigError, match="read_stream"):
        read_current(spark, tmp_path, TAP, STREAM)
    frame = read_stream(spark, tmp_path, TAP, STREAM, metadata=["_sequence", "_position"])
    with pytest.raises(ConfigError, match=key):
        current(frame, [key])


def test_a_stream_that_declares_nothing_comes_whole(spark: SparkSession, tmp_path: Path) -> None:
    land(tmp_path, [schema_line({}, keys=()), record_line({"id": 1}), record_line({"id": 2})])
    found = rows(read_current(spark, tmp_path, TAP, STREAM), "_record")
    assert [json.loads(row["_record"]) for row in found] == [{"id": 1}, {"id": 2}]


def test_sql_gives_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Of keys that fit, do not fit, or are missing; with deletes and table versions."""
    chance = Random(16)
    keys: list[Any] = [*range(8), "x", "y", None, 1.5, [1]]
    for number in range(4):
        lines = [SCHEMA]
        for at in range(60):
            record = {"id": chance.choice(keys), "v": f"{number}-{at}"}
            if chance.random() < 0.2:
                record["_sdc_deleted_at"] = chance.choice([DELETED, "no time"])
            lines.append(record_line(record, version=chance.choice([None, number, number + 1])))
        lines += [activate_line(number)] if number % 2 else []
        land(tmp_path, lines)
    columns = ["id", "v", "_sequence", "_position"]
    found = read_current(
        spark, tmp_path, TAP, STREAM, columns=["id", "v"], metadata=["_sequence", "_position"]
    )
    expected = [tuple(row) for row in found.select(*columns).collect()]
    assert len(expected) > 8
    answer = query(tmp_path, f"select {', '.join(columns)} from {STREAM}", mode="current")
    ours = [tuple(row.values()) for row in answer.table.to_pylist()]
    assert sorted(ours, key=str) == sorted(expected, key=str)
