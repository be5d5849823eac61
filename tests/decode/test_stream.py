"""A stream as record batches, in one process and without Spark."""

from __future__ import annotations

import subprocess
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from singerlake import Lake
from singerlake.decode.request import StreamRequest
from singerlake.decode.stream import read, take
from singerlake.errors import ConfigError, UnknownStream
from singerlake.lake.log import Selection
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line

NUMBER = {"id": {"type": "integer"}, "amount": {"type": "number"}}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    land(
        tmp_path,
        [schema_line(NUMBER), *(record_line({"id": n, "amount": n / 4}) for n in range(3))],
    )
    changed = {**NUMBER, "day": {"type": "string", "format": "date"}}
    later = "2026-02-01T00:00:00Z"
    return land(
        tmp_path,
        [schema_line(changed), record_line({"id": 3, "amount": 1, "day": "2026-11-16"}, later)],
    )


def rows_of(lake: Lake, **asked: Any) -> list[dict[str, Any]]:
    request = StreamRequest(TAP, STREAM, **asked)
    found = read(take(lake.store, request), request)
    rows = [row for batch in found for row in batch.to_pylist()]
    assert [row for batch in found for row in batch.to_pylist()] == rows
    assert all(batch.schema == found.schema for batch in found)
    return rows


def test_all_versions_come_as_one_table(lake: Lake) -> None:
    rows = rows_of(lake, metadata=("_sequence", "_position"))
    assert [row["id"] for row in rows] == [0, 1, 2, 3]
    assert [row["_sequence"] for row in rows] == [1, 1, 1, 2]
    assert [row["_position"] for row in rows] == [2, 3, 4, 2]
    assert [str(row["day"]) for row in rows] == ["None", "None", "None", "2026-11-16"]


def test_columns_numbers_and_a_selection_are_as_asked_for(lake: Lake) -> None:
    [row] = rows_of(lake, columns=("amount",), numbers="decimal", selection=Selection(since=1))
    assert row == {"amount": Decimal(1)}
    january = Selection(end=datetime(2026, 1, 15, tzinfo=timezone.utc))
    assert len(rows_of(lake, selection=january)) == 3
    assert [row["id"] for row in rows_of(lake, schema_versions="latest")] == [3]


def test_what_is_not_there_is_an_error(lake: Lake) -> None:
    with pytest.raises(ConfigError, match="no column price"):
        rows_of(lake, columns=("price",))
    with pytest.raises(UnknownStream, match="things"):
        take(lake.store, StreamRequest(TAP, "thinks"))


def test_no_engine_is_imported() -> None:
    program = "import sys, singerlake.decode.stream; print({'pyspark', 'duckdb'} & {*sys.modules})"
    found = subprocess.check_output([sys.executable, "-c", program], text=True)
    assert found == "set()\n"
