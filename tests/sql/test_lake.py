"""Streams in SQL: the rows that were landed, with the types that Spark gives them."""

from __future__ import annotations

import gc
import logging
from collections.abc import Collection, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from singerlake.decode.misfit import Tally
from singerlake.decode.stream import StreamBatches
from singerlake.errors import (
    BadQuery,
    ConfigError,
    CorruptFile,
    MissingFile,
    NotALake,
    TooManyMisfits,
)
from singerlake.sql import connect, query
from singerlake.sql.table import stream_source as sources
from tests.spark.lakes import STREAM, TAP, activate_line, land, record_line, schema_line

PROPERTIES: dict[str, Any] = {
    "id": {"type": "integer"},
    "price": {"type": "number", "multipleOf": 0.01},
    "status": {"type": ["null", "string"]},
    "created": {"type": "string", "format": "date-time"},
    "place": {"type": "object", "properties": {"city": {"type": "string"}}},
    "tags": {"type": "array", "items": {"type": "string"}},
}
SCHEMA = schema_line(PROPERTIES)


def order(number: int, **more: Any) -> bytes:
    record = {
        "id": number,
        "price": number + 0.25,
        "status": "done" if number % 2 else "new",
        "created": "2026-03-01T10:00:00+02:00",
        "place": {"city": "Ulm"},
        "tags": ["a", "b"],
    }
    return record_line(record | more)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    land(tmp_path, [SCHEMA, *map(order, range(10))])
    land(tmp_path, [SCHEMA, *map(order, range(10, 12))])
    return tmp_path


def rows(root: Path, text: str, **options: Any) -> list[dict[str, Any]]:
    return list(query(root, text, **options).table.to_pylist())


def test_a_stream_is_a_view_with_the_types_of_its_schema(root: Path) -> None:
    kinds = {row["column_name"]: row["column_type"] for row in rows(root, "describe things")}
    assert (
        kinds.items()
        >= {
            "id": "BIGINT",
            "price": "DECIMAL(38,2)",
            "status": "VARCHAR",
            "created": "TIMESTAMP WITH TIME ZONE",
            "place": "STRUCT(city VARCHAR)",
            "tags": "VARCHAR[]",
            "_sequence": "BIGINT",
            "_misfits": "MAP(VARCHAR, VARCHAR)",
        }.items()
    )
    (found,) = rows(root, "select * from things where id = 3", metadata=False)
    assert found | {"created": str(found["created"])} == {
        "id": 3,
        "price": Decimal("3.25"),
        "status": "done",
        "created": "2026-03-01 08:00:00+00:00",
        "place": {"city": "Ulm"},
        "tags": ["a", "b"],
    }


def test_every_row_is_there_once_in_commit_order(root: Path) -> None:
    assert [row["id"] for row in rows(root, "select id from things")] == list(range(12))
    assert rows(root, "select count(*) n, count(distinct _sequence) s from things") == [
        {"n": 12, "s": 2}
    ]


def test_a_view_can_stand_in_a_query_twice(root: Path) -> None:
    text = f'select count(*) n from things a join "{TAP}".things b on a.id = b.id + 1'
    assert rows(root, text) == [{"n": 11}]


def test_filters_hold_on_columns_that_are_not_selected(root: Path) -> None:
    for condition, expected in {
        "price > 9.5": [10, 11],
        "status = 'new' and id in (2, 3, 4)": [2, 4],
        "place.city = 'Ulm' and created < timestamptz '2026-03-01 09:00:00+00' and id < 2": [0, 1],
        "_sequence = 2": [10, 11],
        "status is null": [],
        "list_contains(tags, 'a') and id between 3 and 5": [3, 4, 5],
    }.items():
        found = rows(root, f"select id from things where {condition}")
        assert [row["id"] for row in found] == expected, condition


def test_only_the_columns_that_a_query_needs_are_decoded(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[set[str]] = []
    made = sources.with_columns

    def spy(batches: StreamBatches, columns: Collection[str], metadata: Any) -> StreamBatches:
        decoded.append(set(columns))
        return made(batches, columns, metadata)

    monkeypatch.setattr(sources, "with_columns", spy)
    query(root, "select sum(price) from things where status = 'new'")
    assert decoded == [{"price", "status"}]


def test_what_does_not_fit_is_null_and_counted(root: Path) -> None:
    land(root, [SCHEMA, order(12, price="much"), order(13, price="more", status=5), order(14)])
    answer = query(root, "select id, price from things where id >= 12")
    assert answer.table["price"].to_pylist() == [None, None, Decimal("14.25")]
    assert [(misfit.column, misfit.count, misfit.example) for misfit in answer.misfits] == [
        ("price", 2, '"much"')
    ]
    twice = query(root, "select count(a.price + b.price) from things a, things b")
    assert [misfit.count for misfit in twice.misfits] == [2]
    assert query(root, "select count(id) from things").misfits == ()
    (found,) = rows(root, "select id, _misfits from things where id = 13")
    assert dict(found["_misfits"]) == {"price": '"more"', "status": "5"}


def test_more_misfits_than_are_allowed_are_an_error(root: Path) -> None:
    land(root, [SCHEMA, order(12, price="much"), order(13, price="more")])
    assert query(root, "select sum(price) from things", max_misfits=2).misfits[0].count == 2
    with pytest.raises(TooManyMisfits, match="price"):
        query(root, "select sum(price) from things", max_misfits=1)
    assert query(root, "select sum(id) from things", max_misfits=0).misfits == ()


def test_a_property_named_like_the_column_of_misfits(tmp_path: Path) -> None:
    """It hides the metadata column, and no count."""
    schema = schema_line({"id": {"type": "integer"}, "_misfits": {"type": "integer"}})
    land(tmp_path, [schema, record_line({"id": "x", "_misfits": 5})])
    answer = query(tmp_path, "select id, _misfits from things")
    assert answer.table.to_pylist() == [{"id": None, "_misfits": 5}]
    assert [(misfit.column, misfit.count) for misfit in answer.misfits] == [("id", 1)]


def test_a_row_that_a_filter_drops_for_its_misfit_is_counted(root: Path) -> None:
    """Or else a sum over what is left would be wrong without a word."""
    land(root, [SCHEMA, order(12, price="much")])
    answer = query(root, "select count(*) n from things where price > 0")
    assert answer.table.to_pylist() == [{"n": 12}]
    assert [(misfit.column, misfit.count) for misfit in answer.misfits] == [("price", 1)]


def test_numbers_are_read_as_asked(tmp_path: Path) -> None:
    schema = schema_line({"id": {"type": "integer"}, "n": {"type": "number"}})
    land(tmp_path, [schema, record_line('{"id": 1, "n": 0.1}')])
    found = {
        numbers: rows(tmp_path, "select n from things", numbers=numbers)[0]["n"]
        for numbers in ("double", "decimal", "string")
    }
    assert found["double"] == 0.1
    assert isinstance(found["decimal"], Decimal)
    assert found["decimal"] == Decimal("0.1")
    assert found["string"] == "0.1"


def test_connect_gives_an_ordinary_connection(root: Path) -> None:
    connection = connect(root)
    try:
        assert connection.sql("show tables").fetchall() == [("things",)]
        connection.sql("create table mine as select id from things where id < 3")
        text = "select count(*) from mine join things using (id)"
        assert connection.sql(text).fetchall() == [(3,)]
    finally:
        connection.close()


def test_connect_logs_misfits(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    land(root, [SCHEMA, order(12, price="much")])
    connection = connect(root)
    try:
        with caplog.at_level(logging.WARNING, "singerlake.sql"):
            connection.sql("select sum(price) from things").fetchall()
    finally:
        connection.close()
    assert "price" in caplog.text
    assert STREAM in caplog.text


def test_a_query_reads_the_views_and_nothing_else(root: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.csv"
    secret.write_text("a\n1\n")
    for text in (
        f"select * from read_csv('{secret}')",
        f"select * from '{secret}'",
        f"copy things to '{tmp_path / 'out.csv'}'",
        f"attach '{tmp_path / 'new.db'}'",
        "create table t as select 1",
        "drop view things",
        "set enable_external_access = true",
        "install httpfs",
        "select 1; select 2",
    ):
        with pytest.raises(BadQuery):
            query(root, text)
    assert not (tmp_path / "out.csv").exists()


def test_errors_are_one_line_and_name_what_is_near(root: Path) -> None:
    for text, expected in {
        "select * from thnigs": 'Did you mean "things"?',
        "select * from elsewhere.nothing": "lists the views",
        "selec": "syntax error",
        "select nope from things": "nope",
        "select cast(status as integer) from things": "Could not convert",
    }.items():
        with pytest.raises(BadQuery) as error:
            query(root, text)
        assert expected in str(error.value)
        assert "\n" not in str(error.value)


def test_a_damaged_file_is_our_own_error(root: Path) -> None:
    broken = next(root.rglob("*.singer.gz"))
    broken.write_bytes(broken.read_bytes()[:-20])
    with pytest.raises(CorruptFile):
        query(root, "select sum(price) from things")


def test_one_broken_stream_breaks_no_other(root: Path) -> None:
    schema = schema_line({"id": {"type": "integer"}}, stream="other")
    land(root, [schema, record_line({"id": 1}, stream="other")])
    manifest = root / "raw" / TAP / "other" / "manifest.json"
    manifest.write_text("{")
    assert rows(root, "show tables") == [{"name": "things"}]
    assert len(rows(root, "from things")) == 12
    with pytest.raises(Exception, match=r"manifest\.json"):
        query(root, "from other")


def test_what_is_no_lake_and_no_option(root: Path, tmp_path: Path) -> None:
    with pytest.raises(NotALake):
        connect(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="append, current"):
        connect(root, mode="newest")
    with pytest.raises(ConfigError, match="_sequence"):
        connect(root, metadata=["_sequenc"])


def test_rows_come_as_a_stream(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows are there before the last file has been decoded: memory stays bounded."""
    for _ in range(60):
        land(root, [SCHEMA, *map(order, range(50))])
    begun: list[int] = []
    made = StreamBatches.batches

    def counted(batches: StreamBatches, tally: Tally) -> Iterator[pa.RecordBatch]:
        for batch in made(batches, tally):
            begun.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(StreamBatches, "batches", counted)
    assert len(rows(root, "select id from things limit 5")) == 5
    assert sum(begun) < 3012


def test_a_spill_folder_is_not_the_current_one(root: Path) -> None:
    connection = connect(root)
    try:
        ((folder,),) = connection.sql("select current_setting('temp_directory')").fetchall()
    finally:
        connection.close()
    assert Path(folder).is_absolute()
    del connection
    gc.collect()
    assert not Path(folder).exists()


def test_duckdb_is_the_one_that_we_know() -> None:
    """Older ones have no reader of record batches: the extra does not take them."""
    assert tuple(map(int, duckdb.__version__.split(".")[:2])) >= (1, 5)
    assert hasattr(duckdb.DuckDBPyRelation, "to_arrow_reader")


COUNTS = [
    "select count(*) from things",
    "select count(*) from (select id from things)",
    "select sum(1) from things",
    "select count(*) from things a, things b",
]


def test_rows_are_counted_without_a_file(root: Path) -> None:
    odd = [order(12, id="no number"), activate_line(1), order(13)]
    land(root, [SCHEMA, *odd])
    before = [rows(root, text) for text in COUNTS]
    assert before[0] == [{"count_star()": 14}]
    assert rows(root, "select count(*) as n from things where id < 5") == [{"n": 5}]
    some = [{"n": 14, "ids": 13}]
    assert rows(root, "select count(*) as n, count(id) as ids from things") == some
    at = query(root, "select count(*) as n from things", as_of=2, max_misfits=0)
    assert at.table.to_pylist() == [{"n": 12}]
    for file in root.glob("raw/**/*.singer.gz"):
        file.unlink()
    assert [rows(root, text) for text in COUNTS] == before
    with pytest.raises(MissingFile):
        rows(root, "select count(id) from things")
    with pytest.raises(MissingFile):
        rows(root, "select count(*) from things where id < 5")


def test_counts_of_current_rows_and_without_a_manifest(root: Path) -> None:
    land(root, [SCHEMA, order(1), order(20)])
    assert rows(root, "select count(*) as n from things", mode="current") == [{"n": 13}]
    (root / "raw" / TAP / STREAM / "manifest.json").unlink()
    assert rows(root, "select count(*) as n from things") == [{"n": 14}]


def test_a_property_may_be_called_as_the_column_that_holds_nothing(tmp_path: Path) -> None:
    names = {"_row": {"type": "integer"}, "__ROW": {"type": "integer"}}
    land(tmp_path, [schema_line(names, keys=()), record_line({"_row": 1, "__ROW": 2})])
    assert rows(tmp_path, "from things", metadata=False) == [{"_row": 1, "__ROW": 2}]
    assert rows(tmp_path, "select count(*) as n from things where _row = 1") == [{"n": 1}]
    assert rows(tmp_path, "select count(*) as n from things") == [{"n": 1}]
