"""`singerlake sql`: what people and programs get from a query."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from singerlake import open_lake
from singerlake.cli import main
from singerlake.cli.sql import TABLE_ROWS
from tests.cli.lake import EVIL_TAP, TAP, land, run, said, told
from tests.servers import S3Server
from tests.sql.table.test_published import publish

SHOP_SCHEMA = (
    b'{"type": "SCHEMA", "stream": "orders", "key_properties": ["id"], '
    b'"schema": {"type": "object", "properties": {"id": {"type": "integer"}}}}'
)
PRICE = {"id": {"type": "integer"}, "price": {"type": "integer"}}


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A lake whose price is 1.10 where its schema says integer."""
    root = tmp_path / "shop"
    land(root, TAP, "orders", range(3))
    land(root, TAP, "whole", range(3), PRICE)
    land(root, "tap-other", "customers", range(2))
    land(root, TAP, "customers", range(4))
    return root


def test_without_a_query_it_lists_the_views(shop: Path) -> None:
    text = said("sql", shop)
    assert '"orders"' in text
    assert f'"{TAP}"."customers"' in text
    views = told("sql", shop)["views"]
    assert {"view": '"orders"', "published": False, "tap_id": TAP, "stream": "orders"} in views
    assert said("sql", SINGERLAKE_ROOT=str(shop)) == text


def test_a_table_for_people(shop: Path) -> None:
    text = said("sql", shop, "select id, note, price from orders order by id desc limit 1")
    assert text.split() == ["id", "note", "price", "2", "NULL", "1.1"]


def test_formats_for_programs(shop: Path) -> None:
    query = "select id, {'a': id} as nested, null as nothing, '' as empty from orders where id < 2"
    lines = said("sql", shop, query, "--format", "jsonl").splitlines()
    expected = [
        {"id": number, "nested": {"a": number}, "nothing": None, "empty": ""} for number in (0, 1)
    ]
    assert [json.loads(line) for line in lines] == expected
    document = told("sql", shop, query)
    assert document["rows"] == expected
    assert document["columns"][0] == {"name": "id", "type": "BIGINT"}
    assert document["misfits"] == []
    assert document == json.loads(said("sql", shop, query, "--format", "json"))
    text = said("sql", shop, query, "--format", "csv")
    assert list(csv.reader(io.StringIO(text)))[1] == ["0", '{"a":0}', "", ""]
    assert text.splitlines()[1].endswith(',,""')
    none = said("sql", shop, "select id from orders where false", "--format", "csv")
    assert none.splitlines() == ['"id"']


def test_columns_of_the_same_name_are_all_there(shop: Path) -> None:
    query = "select a.id, b.id, a.id + 5 as ID from orders a join orders b using (id) where id = 1"
    assert told("sql", shop, query)["rows"] == [{"id": 1, "id_1": 1, "ID_2": 6}]
    (line,) = said("sql", shop, query, "--format", "jsonl").splitlines()
    assert json.loads(line) == {"id": 1, "id_1": 1, "ID_2": 6}
    text = said("sql", shop, query, "--format", "csv")
    assert text.splitlines() == ['"id","id_1","ID_2"', "1,1,6"]


def test_decimals_keep_their_digits_and_no_number_is_lost(shop: Path) -> None:
    query = "select 12345678901234567.10::decimal(38,2) d, 'nan'::double n, sum(id)*10^30::hugeint"
    (line,) = said("sql", shop, query + " from orders", "--format", "jsonl").splitlines()
    assert '"d":12345678901234567.10' in line
    assert '"n":"NaN"' in line


def test_every_kind_of_value_can_be_printed(shop: Path) -> None:
    query = (
        "select interval 3 day i, time '10:00' t, uuid() u, '101'::bit b, 'a'::enum('a') e, "
        "map{'a': 1} m, [1.5, 'nan'::double] l, 'x'::blob bl, date '2026-01-01' d, null n"
    )
    for form in ("table", "json", "jsonl", "csv"):
        assert said("sql", shop, query, "--format", form)


def test_metadata_columns_are_there_when_they_are_named(shop: Path) -> None:
    (row,) = told("sql", shop, "select * from orders limit 1")["rows"]
    assert list(row) == ["id", "note", "price"]
    (row,) = told("sql", shop, "select id, _sequence, _TAP from orders limit 1")["rows"]
    assert list(row.values()) == [0, 1, TAP]


def test_misfits_are_reported(shop: Path) -> None:
    result = run("sql", shop, "select sum(price) from whole")
    assert result.exit_code == 0
    assert f"whole.price of {TAP}: 3 nulls" in result.stderr
    assert "1.1" in result.stderr
    (misfit,) = told("sql", shop, "select sum(price) from whole")["misfits"]
    assert (misfit["stream"], misfit["column"], misfit["count"]) == ("whole", "price", 3)
    assert run("sql", shop, "select sum(id) from whole").stderr == ""
    failed = run("sql", shop, "select sum(price) from whole", "--max-misfits", "2")
    assert failed.exit_code == 1
    assert failed.stderr.startswith("Error: TooManyMisfits: 3 values")
    assert failed.stderr.count("\n") == 1


def test_the_root_may_be_left_out_and_the_query_may_come_from_stdin(shop: Path) -> None:
    for query in ("select 1/2 as half", "from orders limit 0", "(select 1)", "describe orders"):
        assert said("sql", query, SINGERLAKE_ROOT=str(shop))
    given = CliRunner().invoke(main, ["sql", str(shop), "-", "--json"], input="select 1 as a")
    assert json.loads(given.stdout)["rows"] == [{"a": 1}]
    assert run("sql", "select 1").exit_code == 2
    assert run("sql", shop, "select", "1").exit_code == 2


def test_errors_are_one_line(shop: Path) -> None:
    for query, code in {
        "select * from ordres": 2,
        "select nope from orders": 2,
        "selec 1": 2,
        "drop table orders": 2,
        "copy orders to 'x.csv'": 2,
        "from customers": 2,
    }.items():
        result = run("sql", shop, query)
        assert result.exit_code == code, result.output
        assert result.stderr.startswith("Error: BadQuery: ")
        assert result.stderr.count("\n") == 1
    assert 'Did you mean "orders"?' in run("sql", shop, "from ordres").stderr
    assert '"tap-other"."customers" or' in run("sql", shop, "from customers").stderr
    assert run("sql", shop.parent / "nothing", "select 1").exit_code == 2


def test_a_damaged_stream_exits_as_for_damage(root: Path) -> None:
    result = run("sql", root, "select sum(id) from damaged")
    assert result.exit_code == 3
    assert result.stderr.startswith("Error: CorruptFile: ")


def test_hostile_names_reach_no_terminal(built: Path) -> None:
    for arguments in ([], ["show all tables"], [f'from "{EVIL_TAP}".orders']):
        result = run("sql", built, *arguments)
        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.output
        assert "\x07" not in result.output


def test_a_published_table(shop: Path, tmp_path: Path) -> None:
    publish(tmp_path / "out", "parquet", [{"id": 7}], id=pa.int64())
    query = "select id from published.things"
    assert told("sql", shop, query, "--published", tmp_path / "out")["rows"] == [{"id": 7}]
    assert "published" in said("sql", shop, "--published", tmp_path / "out")


def test_a_screen_gets_a_page_of_rows(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select range from range(1000)"
    assert len(said("sql", shop, query).splitlines()) == 1001
    assert len(said("sql", shop, query, "--limit", "7").splitlines()) == 8
    monkeypatch.setattr("singerlake.cli.sql.is_terminal", lambda: True)
    result = run("sql", shop, query)
    assert len(result.stdout.splitlines()) == TABLE_ROWS + 1
    assert "--limit 0" in result.stderr
    assert len(said("sql", shop, query, "--limit", "0").splitlines()) == 1001


def test_a_lake_and_its_tables_on_s3(moto_server: S3Server, tmp_path: Path) -> None:
    bucket, options = f"s3://{moto_server.new_bucket()}", moto_server.storage_options()
    with open_lake(f"{bucket}/lake", create=True, **options).writer(TAP) as writer:
        for line in (SHOP_SCHEMA, b'{"type": "RECORD", "stream": "orders", "record": {"id": 7}}'):
            writer.write(line)
    publish(f"{bucket}/out", "parquet", [{"id": 7}], options, id=pa.int64())
    given = ("--published", f"{bucket}/out", "--storage-options", json.dumps(options))
    query = "select count(*) as n from orders join published.things using (id)"
    assert told("sql", f"{bucket}/lake", query, *given)["rows"] == [{"n": 1}]
    for wrong in ("selec 1", "from nothing", "select current_setting('s3_secret_access_key')"):
        result = run("sql", f"{bucket}/lake", wrong, *given)
        assert result.exit_code == 2
        assert moto_server.secret not in result.output


@pytest.mark.slow
def test_an_interrupt_is_one(shop: Path) -> None:
    """While DuckDB's threads are at work, which shows by the time that they take."""
    query = "select sum(hash(range)) from range(1000000000000)"
    command = [sys.executable, "-m", "singerlake.cli", "sql", str(shop), query]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            while _seconds_of(process.pid) < 4:
                time.sleep(0.2)
            process.send_signal(signal.SIGINT)
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == 130, error
    assert error.strip() == "Interrupted."


def _seconds_of(pid: int) -> float:
    """The processor's time that a process has taken."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_without_duckdb_it_says_what_to_install(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith("singerlake.sql")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "duckdb", None)
    result = run("sql", shop, "select 1")
    assert result.exit_code == 2
    assert 'pip install "singerlake[duckdb]"' in result.stderr
    assert result.stderr.count("\n") == 1
