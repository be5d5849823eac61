"""A real database into the lake, and out of it into another schema: the same rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from singerlake import check, open_lake
from tests.plugins import pipes, venvs
from tests.plugins.pipes import Pipes
from tests.plugins.postgres import Postgres, run_postgres

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

TAP_ID = "tap-postgres--meltanolabs"
TABLES = {
    "orders": "id, customer, amount, ratio, paid, ordered_on, ordered_at, note",
    "customers": "id, name",
}

SOURCE = """
CREATE TABLE orders (
    id bigint PRIMARY KEY,
    customer integer NOT NULL,
    amount numeric(14, 2),
    ratio double precision,
    paid boolean,
    ordered_on date,
    ordered_at timestamp with time zone,
    note text
);
INSERT INTO orders
SELECT n::bigint * 1000000007, n % 17, n * 1234.56 - 5000, sqrt(n), n % 2 = 0,
       date '2026-01-01' + n, timestamptz '2026-01-01 12:00:00.123456+02' + n * interval '1 hour',
       CASE n % 4 WHEN 0 THEN NULL WHEN 1 THEN E'Größe "x"\\n, 大阪' WHEN 2 THEN '' ELSE 'plain' END
FROM generate_series(1, 500) AS n;
CREATE TABLE customers (id integer PRIMARY KEY, name text);
INSERT INTO customers SELECT n, 'customer ' || n FROM generate_series(0, 16) AS n;
"""


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with run_postgres() as server:
        server.sql(SOURCE)
        yield server


def differences(postgres: Postgres, table: str) -> str:
    """How many rows only one of the two schemas has."""
    columns = TABLES[table]
    ours, theirs = (f"SELECT {columns} FROM {schema}.{table}" for schema in ("public", "replayed"))
    return postgres.sql(
        f"SELECT (SELECT count(*) FROM (({ours}) EXCEPT ALL ({theirs})) AS a),"
        f" (SELECT count(*) FROM (({theirs}) EXCEPT ALL ({ours})) AS b);"
    )


def test_from_a_database_to_the_lake_to_a_database(postgres: Postgres, tmp_path: Path) -> None:
    run = Pipes(tmp_path)
    root = tmp_path / "lake"
    tap = (
        venvs.program("meltanolabs-tap-postgres"),
        postgres.settings(filter_schemas=["public"]),
    )
    into = (pipes.TARGET, {"lake_root": str(root), "tap_id": TAP_ID})
    out_of = (pipes.TAP, {"lake_root": str(root), "tap_id": TAP_ID})
    target = (
        venvs.program("meltanolabs-target-postgres"),
        postgres.settings(default_target_schema="replayed"),
    )

    catalog = run.discover(tap)
    run.run(tap, into, catalog)
    assert check(open_lake(root).store).clean
    for table in TABLES:
        landed = list(open_lake(root).stream(TAP_ID, f"public-{table}").snapshot().records())
        assert str(len(landed)) == postgres.sql(f"SELECT count(*) FROM {table};")
    state = run.run(out_of, target)
    for table in TABLES:
        assert differences(postgres, table) == "0|0"

    # Again, after changes: the tap lands its tables whole, and what is new replaces by key.
    postgres.sql("INSERT INTO customers VALUES (99, 'the newest'); UPDATE orders SET note = 'new';")
    run.run(tap, into, catalog)
    run.run(out_of, target, state=state)
    for table in TABLES:
        assert differences(postgres, table) == "0|0"
