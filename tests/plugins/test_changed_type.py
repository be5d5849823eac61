"""A column that changed its type: the whole stream replays into an empty target all the same."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from singerlake import open_lake
from tests.plugins import pipes, venvs
from tests.plugins.pipes import Pipes
from tests.plugins.postgres import Postgres, run_postgres

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TAP_ID, STREAM = "tap-postgres--meltanolabs", "public-articles"

BEFORE = """
CREATE TABLE articles (
    id integer PRIMARY KEY, code integer, price integer, sold boolean, seen date, old text
);
INSERT INTO articles
SELECT n, n * 7, n * 3, n % 2 = 0, date '2026-01-01' + n, 'old' FROM generate_series(1, 20) AS n;
"""
AFTER = """
ALTER TABLE articles ALTER code TYPE text, ALTER price TYPE numeric(12, 2), ADD fresh jsonb,
    ALTER seen TYPE timestamp with time zone, ALTER sold TYPE integer USING sold::integer;
INSERT INTO articles
SELECT n, 'no ' || n, n + 0.25, n, timestamptz '2026-02-01 10:00+01' + n * interval '1 hour',
    'new', '{"size": 3}'
FROM generate_series(21, 40) AS n;
"""
COLUMNS = "id, code, price::numeric, old, nullif(fresh::text, 'null'), seen::timestamptz"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with run_postgres() as server:
        server.sql("ALTER SYSTEM SET timezone = 'UTC'; SELECT pg_reload_conf();")
        server.sql(BEFORE)
        yield server


@pytest.fixture(scope="module")
def lake(postgres: Postgres, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the tap read before and after the change, each as a whole table."""
    folder = tmp_path_factory.mktemp("changed")
    tap = (venvs.program("meltanolabs-tap-postgres"), postgres.settings(filter_schemas=["public"]))
    into = (pipes.TARGET, {"lake_root": str(folder / "lake"), "tap_id": TAP_ID})
    run = Pipes(folder)
    run.run(tap, into, run.discover(tap))
    postgres.sql(AFTER)
    run.run(tap, into, run.discover(tap))
    snapshot = open_lake(folder / "lake").stream(TAP_ID, STREAM).snapshot()
    assert len(snapshot.manifest.versions) == 2
    assert len(list(snapshot.records())) == 60
    return folder / "lake"


def merged(lake: Path, **others: Any) -> tuple[Path, dict[str, Any]]:
    return pipes.TAP, {
        "lake_root": str(lake),
        "tap_id": TAP_ID,
        "schema_versions": "merged",
        **others,
    }


def test_into_an_empty_database(lake: Path, postgres: Postgres, tmp_path: Path) -> None:
    target = venvs.program("meltanolabs-target-postgres")
    into = (target, postgres.settings(default_target_schema="replayed"))
    Pipes(tmp_path).run(merged(lake), into)
    source, copy = (f"SELECT {COLUMNS} FROM {one}.articles" for one in ("public", "replayed"))
    assert postgres.sql(f"({source}) EXCEPT ALL ({copy});") == ""
    assert postgres.sql(f"({copy}) EXCEPT ALL ({source});") == ""
    kinds = postgres.sql(
        "SELECT column_name, data_type FROM information_schema.columns "
        "WHERE table_schema = 'replayed' AND table_name = 'articles' ORDER BY 1;"
    )
    found = dict(line.split("|") for line in kinds.splitlines())
    assert {found["code"], found["sold"]} == {"text"}
    assert (found["price"], found["id"]) == ("numeric", "bigint")


def test_into_files(lake: Path, tmp_path: Path) -> None:
    landed = list(open_lake(lake).stream(TAP_ID, STREAM).snapshot().records())
    settings = {"destination_path": str(tmp_path), "do_timestamp_file": False}
    Pipes(tmp_path).run(merged(lake), (venvs.program("target-jsonl"), settings))
    lines = (tmp_path / f"{STREAM}.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in lines] == landed
    csv_target = venvs.program("meltanolabs-target-csv")
    Pipes(tmp_path).run(merged(lake), (csv_target, {"destination_path": str(tmp_path)}))
    with (tmp_path / f"{STREAM}.csv").open(encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == len(landed)


def test_without_it_a_database_refuses_the_change(
    lake: Path, postgres: Postgres, tmp_path: Path
) -> None:
    """What `merged` is for."""
    target = venvs.program("meltanolabs-target-postgres")
    into = (target, postgres.settings(default_target_schema="refused"))
    with pytest.raises(AssertionError):
        Pipes(tmp_path).run(merged(lake, schema_versions="all"), into)
