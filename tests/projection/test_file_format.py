"""The file formats of projections, by themselves. No Spark is needed."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import pyarrow as pa
import pytest

from singerlake.projection import file_format
from singerlake.projection.file_format import FORMATS


def written(name: str, batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> list[Any]:
    """The rows that a file of these batches gives back."""
    file = io.BytesIO()
    sink = FORMATS[name].open(file, schema)
    for batch in batches:
        sink.write(batch)
    sink.close()
    file.seek(0)
    return [row for batch in FORMATS[name].read(file, schema, None) for row in batch.to_pylist()]


def test_records_within_an_avro_record_have_names_of_their_own() -> None:
    inner = pa.struct([("x", pa.int64())])
    schema = pa.schema([("a", pa.struct([("b_c", inner)])), ("a_b", pa.struct([("c", inner)]))])
    row = {"a": {"b_c": {"x": 1}}, "a_b": {"c": {"x": 2}}}
    assert written("avro", [pa.RecordBatch.from_pylist([row], schema)], schema) == [row]


@pytest.mark.parametrize("name", FORMATS)
def test_a_part_of_a_batch_has_its_own_rows(name: str) -> None:
    """As a task writes them that holds rows of several partitions."""
    places = pa.struct([("city", pa.string())])
    schema = pa.schema([("id", pa.int64()), ("place", places), ("all", pa.list_(places))])
    rows = [
        {
            "id": number,
            "place": None if number % 5 == 0 else {"city": f"city {number}"},
            "all": [None, {"city": f"{number}"}] * (number % 3),
        }
        for number in range(3000)
    ]
    batch = pa.RecordBatch.from_pylist(rows, schema)
    parts = [batch.slice(start, 700) for start in range(1000, 2400, 700)]
    assert written(name, parts, schema) == rows[1000:2400]


@pytest.mark.parametrize(
    "text", ["x" * 5000, "line\n" * 1000, '"\n' * 1000, ",\r\n" * 700, "\n", "", None]
)
def test_a_csv_row_may_be_longer_than_a_block(text: str | None, monkeypatch: Any) -> None:
    monkeypatch.setattr(file_format, "CSV_BLOCK", 64)
    for schema in (
        pa.schema([("a", pa.string())]),
        pa.schema([("a", pa.string()), ("b", pa.int64())]),
    ):
        few = [{"a": value, "b": 1} for value in (text, "short", text, None, "", "after")]
        rows = [{name: row[name] for name in schema.names} for row in few]
        assert written("csv", [pa.RecordBatch.from_pylist(rows, schema)], schema) == rows


def test_a_csv_file_without_rows_has_none() -> None:
    assert written("csv", [], pa.schema([("a", pa.string())])) == []
