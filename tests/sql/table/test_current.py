"""The current rows in SQL: those that Spark's view gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError
from singerlake.sql import query
from tests.spark.lakes import activate_line, land, record_line, schema_line

PROPERTIES: dict[str, Any] = {
    "id": {"type": "integer"},
    "v": {"type": "string"},
    "_sdc_deleted_at": {"type": ["null", "string"], "format": "date-time"},
}
SCHEMA = schema_line(PROPERTIES)
DELETED = "2026-01-01T00:00:00Z"


def rows(root: Path, columns: str = "id, v") -> list[tuple[Any, ...]]:
    found = query(root, f"select {columns} from things order by all", mode="current")
    return [tuple(row.values()) for row in found.table.to_pylist()]


def test_the_latest_row_of_each_key_without_the_deleted(tmp_path: Path) -> None:
    """By commit order: the time of extraction does not matter."""
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
    assert rows(tmp_path) == [(1, "new"), (2, "second")]
    assert rows(tmp_path, "count(*)") == [(2,)]
    land(tmp_path, [SCHEMA, record_line({"id": 3, "v": "back"})])
    assert rows(tmp_path, "id, _sequence") == [(1, 2), (2, 1), (3, 4)]


def test_an_activated_version_replaces_those_before(tmp_path: Path) -> None:
    first = [record_line({"id": number, "v": "a"}, version=10) for number in (1, 2)]
    land(tmp_path, [SCHEMA, *first, activate_line(10)])
    land(tmp_path, [SCHEMA, record_line({"id": 1, "v": "b"}, version=20)])
    assert rows(tmp_path) == [(1, "b"), (2, "a")]
    land(tmp_path, [SCHEMA, activate_line(20)])
    assert rows(tmp_path) == [(1, "b")]
    land(tmp_path, [SCHEMA, record_line({"id": 5, "v": "without a version"})])
    assert rows(tmp_path) == [(1, "b"), (5, "without a version")]


def test_keys_that_do_not_fit_are_told_apart(tmp_path: Path) -> None:
    sent = [("x", "a"), ("y", "b"), ("x", "c"), (7, "d")]
    land(tmp_path, [SCHEMA, *(record_line({"id": key, "v": text}) for key, text in sent)])
    assert rows(tmp_path) == [(7, "d"), (None, "b"), (None, "c")]


def test_a_mark_that_does_not_fit_is_a_mark(tmp_path: Path) -> None:
    land(tmp_path, [SCHEMA, record_line({"id": 1, "v": "a", "_sdc_deleted_at": "yes"})])
    assert rows(tmp_path) == []


def test_rows_without_a_key_stay(tmp_path: Path) -> None:
    land(tmp_path, [SCHEMA, *(record_line({"id": None, "v": text}) for text in "ab")])
    assert rows(tmp_path) == [(None, "a"), (None, "b")]
    keyless = schema_line(PROPERTIES, keys=())
    root = tmp_path / "keyless"
    land(root, [keyless, *(record_line({"id": 1, "v": text}) for text in "ab")])
    assert rows(root) == [(1, "a"), (1, "b")]


def test_keys_past_what_a_double_holds_are_exact(tmp_path: Path) -> None:
    schema = schema_line(PROPERTIES | {"id": {"type": "number"}})
    keys = [2**53, 2**53 + 1]
    land(tmp_path, [schema, *(record_line({"id": key, "v": "a"}) for key in keys)])
    assert rows(tmp_path, "count(*)") == [(2,)]


def test_columns_that_differ_in_case_alone_are_told_apart(tmp_path: Path) -> None:
    """DuckDB takes `Id` for `id`, and a property for the metadata column that orders the rows."""
    names = ("Id", "id", "_Version", "_sdc_Deleted_at")
    schema = schema_line({name: {"type": "integer"} for name in names})
    for values in [(1, 7, 9, 5), (1, 8, 8, 6), (2, 8, 7, 7)]:
        land(tmp_path, [schema, record_line(dict(zip(names, values, strict=True)))])
    assert rows(tmp_path, "Id, id_1, _Version, _sequence") == [(1, 7, 9, 1), (2, 8, 7, 3)]


@pytest.mark.parametrize(
    ("properties", "keys", "expected"),
    [
        ({"v": {"type": "string"}}, ["id"], "declares no property"),
        ({"id": {"type": "integer"}, "_sequence": {"type": "integer"}}, ["id"], "_sequence"),
    ],
)
def test_what_cannot_be_current_is_an_error_that_says_why(
    tmp_path: Path, properties: dict[str, Any], keys: list[str], expected: str
) -> None:
    land(tmp_path, [schema_line(properties, keys=keys), record_line({"id": 1, "v": "a"})])
    with pytest.raises(ConfigError, match=expected):
        rows(tmp_path, "count(*)")
    assert query(tmp_path, "from things").table.num_rows == 1
