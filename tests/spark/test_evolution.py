"""Rows of older files, as the newer schema has them. No Spark is needed."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from singerlake.format.record_type import (
    BOOLEAN,
    DATE,
    DOUBLE,
    JSON,
    LONG,
    NULL,
    STRING,
    TEXT,
    TIMESTAMP,
    Type,
    array,
    decimal,
    mapping,
    struct,
)
from singerlake.projection.widening import conformed
from singerlake.spark.evolution import marked, merged, record_of
from singerlake.spark.spark_type import to_spark

MOMENT = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)


def schema_of(kind: Type) -> StructType:
    """A schema with one column `v`, as a run stores it and a reader finds it."""
    record = struct({"v": kind})
    made = to_spark(record)
    assert isinstance(made, StructType)
    return StructType.fromJson(marked(made, record).jsonValue())


def read(value: Any, was: Type, now: Type) -> Any:
    """A value of an older file, beside files of the newer type."""
    old, new = schema_of(was), merged(schema_of(was), schema_of(now))
    batch = pa.RecordBatch.from_pylist([{"v": value}], to_arrow_schema(old, timezone="UTC"))
    arrow = to_arrow_schema(new, timezone="UTC")
    (row,) = conformed(batch, arrow, record_of(old), record_of(new)).to_pylist()
    return row["v"]


@pytest.mark.parametrize(
    ("value", "was", "now", "expected"),
    [
        ("abc", STRING, JSON, '"abc"'),
        ("abc", TEXT, JSON, '"abc"'),
        ("[1]", JSON, STRING, "[1]"),
        (["a", None], array(STRING), array(JSON), ['"a"', None]),
        ([("k", "a")], mapping(STRING), mapping(JSON), [("k", '"a"')]),
        ({"x": "a"}, struct({"x": STRING}), struct({"x": JSON}), {"x": '"a"'}),
        ([{"x": "a"}], array(struct({"x": TEXT})), array(struct({"x": JSON})), [{"x": '"a"'}]),
        ({"x": 1}, struct({"x": LONG}), struct({"y": LONG}), {"x": 1, "y": None}),
        ({"x": 1}, struct({"x": LONG}), array(LONG), '{"x":1}'),
        (MOMENT, TIMESTAMP, JSON, '"2026-01-01T12:00:00Z"'),
        (MOMENT, TIMESTAMP, STRING, "2026-01-01T12:00:00Z"),
        (date(2026, 1, 1), DATE, STRING, "2026-01-01"),
        (date(2026, 1, 1), DATE, TIMESTAMP, MOMENT.replace(hour=0)),
        (1.0, DOUBLE, STRING, "1.0"),
        (1e22, DOUBLE, STRING, "1e22"),
        (float("nan"), DOUBLE, STRING, "NaN"),
        (True, BOOLEAN, STRING, "true"),
        (Decimal("1.50"), decimal(5, 2), STRING, "1.50"),
        (2**53 + 1, LONG, DOUBLE, 2.0**53),
        (7, LONG, decimal(38, 18), Decimal(7)),
        (None, NULL, LONG, None),
        ('"x"', NULL, LONG, None),
        ("x", NULL, STRING, "x"),
    ],
)
def test_an_older_value_is_what_its_wider_type_has(
    value: Any, was: Type, now: Type, expected: Any
) -> None:
    assert read(value, was, now) == expected


def test_a_string_that_has_no_mark_stays() -> None:
    bare, new = to_spark(struct({"v": STRING})), schema_of(JSON)
    assert isinstance(bare, StructType)
    batch = pa.RecordBatch.from_pylist([{"v": "{}"}], to_arrow_schema(bare))
    found = conformed(batch, to_arrow_schema(new), record_of(bare), record_of(merged(bare, new)))
    assert found.to_pylist() == [{"v": "{}"}]
