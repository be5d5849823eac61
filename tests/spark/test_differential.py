"""Spark, a projection, SQL and the decoders give the values that docs/spark.md says, and count what
does not fit in the same way.

Cases are joined to streams of many columns: a few jobs of Spark compare thousands of values.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import Observation, SparkSession

import singerlake.sql
from singerlake.decode.misfit import Tally
from singerlake.decode.request import StreamRequest
from singerlake.decode.stream import read, take
from singerlake.lake import open_lake
from singerlake.projection.document import Settings
from singerlake.spark import read_stream
from singerlake.spark.project import project
from singerlake.spark.read_published import read_published_arrow
from tests.decode.cases import Case, Version, cases, joined
from tests.decode.oracle import ROUND_HALF_UP, Oracle
from tests.spark.lakes import STREAM, TAP, land

Found = tuple[list[dict[str, Any]], dict[str, int]]
RIGHT = Oracle()
ONCE = settings(
    phases=[Phase.generate],
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)


def by_decoders(root: str, case: Case) -> Found:
    request = StreamRequest(TAP, STREAM, numbers=case.numbers)  # type: ignore[arg-type]
    tally = Tally()
    found = read(take(open_lake(root).store, request), request)
    table = pa.Table.from_batches(found.batches(tally), found.schema)
    return rows_of(table), tally.counts


def by_spark(spark: SparkSession, root: str, case: Case) -> Found:
    misfits = Observation()
    df = read_stream(spark, root, TAP, STREAM, numbers=case.numbers, misfits=misfits)  # type: ignore[arg-type]
    return rows_of(df.toArrow()), misfits.get


def by_projection(spark: SparkSession, root: str, out: str, case: Case) -> Found:
    made = Settings(format="parquet", mode="append", numbers=case.numbers)  # type: ignore[arg-type]
    done = project(spark, root, out, TAP, STREAM, made, max_misfits=None)
    assert done.misfits == done.total_misfits
    return rows_of(read_published_arrow(out, TAP, STREAM)), done.misfits


def by_sql(root: str, case: Case) -> Found:
    query = f'select * from "{TAP}"."{STREAM}"'
    result = singerlake.sql.query(root, query, numbers=case.numbers, metadata=())
    return rows_of(result.table), {each.column: each.count for each in result.misfits}


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    return plain(table.to_pylist(maps_as_pydicts="strict"))


def plain(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """By id, with every value in a form that all readers share."""
    return sorted(({n: _plain(v) for n, v in row.items()} for row in rows), key=lambda r: r["id"])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, datetime):
        return value.astimezone(timezone.utc)
    if isinstance(value, float):
        return repr(value)
    return value


def differences(case: Case, found: Found, oracle: Oracle = RIGHT) -> list[str]:
    """Where a reader and the oracle do not agree."""
    rows, misfits = case.expected(oracle)
    told = []
    for row, expected in zip(found[0], plain(rows), strict=True):
        sent = [record for version in case.versions for record in version.records][row["id"]]
        told += [
            f"{name} of {sent.get(name)}: {row[name]!r}, expected {value!r}"
            for name, value in expected.items()
            if row[name] != value
        ]
    counted = {name: count for name, count in found[1].items() if count}
    return told + ([] if counted == misfits else [f"misfits {counted}, expected {misfits}"])


def landed(root: str, case: Case) -> None:
    for lines in case.commits():
        land(root, lines)


def made(count: int) -> list[Case]:
    """Cases that hypothesis makes, each small enough for it."""
    found: list[Case] = []

    @settings(ONCE, max_examples=count)
    @given(cases())
    def look(case: Case) -> None:
        found.append(case)

    look()
    return found


def test_decoders_and_sql_agree_with_the_oracle() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for number, case in enumerate(made(20)):
            root = f"{folder}/{number}"
            landed(root, case)
            assert differences(case, by_decoders(root, case)) == []
            assert differences(case, by_sql(root, case)) == []


@pytest.mark.slow
def test_all_readers_agree_with_the_oracle(spark: SparkSession) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for case in joined(made(40)):
            root, out = f"{folder}/{case.numbers}", f"{folder}/{case.numbers} out"
            landed(root, case)
            assert differences(case, by_decoders(root, case)) == []
            assert differences(case, by_sql(root, case)) == []
            assert differences(case, by_spark(spark, root, case)) == []
            assert differences(case, by_projection(spark, root, out, case)) == []


MONEY = {"type": "number", "multipleOf": 0.01}
EXPANSION = "28.519999999999999573674358543939888477325439453125"
CONTROL = Case(
    [
        Version(
            {"a": MONEY, "b": {"type": "number"}, "c": {"type": "string"}},
            [{"a": EXPANSION, "b": "1.0000000000000000005", "c": "5"}],
        )
    ],
    "decimal",
)


@pytest.mark.parametrize(
    ("wrong", "column"),
    [
        (Oracle(by_double=False), "a"),
        (Oracle(rounding=ROUND_HALF_UP), "b"),
        (Oracle(strict_strings=False), "c"),
    ],
    ids=["no double's error", "another rounding", "numbers as strings"],
)
def test_a_control_with_another_rule_is_seen(tmp_path: Path, wrong: Oracle, column: str) -> None:
    landed(str(tmp_path), CONTROL)
    found = by_decoders(str(tmp_path), CONTROL)
    assert differences(CONTROL, found) == []
    seen = differences(CONTROL, found, wrong)
    assert any(text.startswith(f"{column} of ") for text in seen)


def test_a_control_with_another_count_is_seen(tmp_path: Path) -> None:
    landed(str(tmp_path), CONTROL)
    rows, misfits = by_decoders(str(tmp_path), CONTROL)
    assert misfits == {"c": 1}
    assert differences(CONTROL, (rows, {"c": 2})) == ["misfits {'c': 2}, expected {'c': 1}"]


def test_the_cases_hold_what_fits_and_what_does_not() -> None:
    """Neither all nor none of the values fit: a test of the test."""
    found = made(10)
    sent = sum(len(row) for case in found for version in case.versions for row in version.records)
    misfits = sum(sum(case.expected(RIGHT)[1].values()) for case in found)
    assert 0.05 < misfits / sent < 0.9
    assert {case.numbers for case in joined(found)} == {case.numbers for case in found}
    assert max(len(case.versions) for case in found) == 3
