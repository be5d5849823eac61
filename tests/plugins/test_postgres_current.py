"""The published `current` table is the source's table as it is now, whatever happened to that.

Real taps read a real PostgreSQL into a lake, with the states that came out of the last run, and
every row of the published table is held against `select * from` its source.
"""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from singerlake import check, open_lake
from singerlake.spark.project import project
from singerlake.spark.published import Settings
from singerlake.spark.read_published import read_published_arrow
from singerlake.sql import query
from tests.plugins import pipes, shop, venvs
from tests.plugins.pipes import Pipes
from tests.plugins.postgres import Postgres, run_postgres

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

# wal2json has nothing of a truncate, and the tap sends a changed key as a new row only. Whoever
# does such things loads the table anew.
UNSEEN = ("truncate", "a changed key")
PIPELINEWISE, MELTANOLABS = "pipelinewise-tap-postgres", "meltanolabs-tap-postgres"


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    with run_postgres() as server:
        server.sql("CREATE TABLE beat (n integer);")
        yield server


@dataclass
class Pipeline:
    """A tap that reads one schema of the database into a lake, again and again."""

    postgres: Postgres
    spark: SparkSession
    folder: Path
    package: str
    schema: str
    method: str
    tables: tuple[str, ...]
    catalog: dict[str, Any] | None = None
    state: dict[str, Any] | None = None

    @property
    def tap_id(self) -> str:
        return f"{self.package}--{self.schema}"

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def sql(self, statements: str) -> None:
        self.postgres.sql(f"SET search_path TO {self.schema}; {statements}")

    @property
    def tap(self) -> tuple[Path, dict[str, Any]]:
        schemas = self.schema if self.package == PIPELINEWISE else [self.schema]
        settings = self.postgres.settings(dbname="postgres", filter_schemas=schemas)
        return venvs.program(self.package), settings

    def land(self) -> None:
        """Run the tap once more, from the state that came out last."""
        target = (pipes.TARGET, {"lake_root": str(self.lake), "tap_id": self.tap_id})
        with _a_log_that_goes_on(self.postgres):
            self.state = Pipes(self.folder).run(self.tap, target, self.catalog, self.state)

    def discover(self) -> None:
        catalog = Pipes(self.folder).discover(self.tap)
        for entry in catalog["streams"]:
            entry["replication_method"] = self.method
            for row in entry["metadata"]:
                if not row["breadcrumb"]:
                    row["metadata"]["replication-method"] = self.method
                    row["metadata"]["selected"] = self._is_selected(entry["tap_stream_id"])
        self.catalog = catalog

    def _is_selected(self, stream: str) -> bool:
        return stream.removeprefix(f"{self.schema}-") in self.tables

    def published(self, table: str) -> list[str]:
        """The rows of the table that `project` publishes."""
        stream, out = f"{self.schema}-{table}", self.folder / "tables"
        settings = Settings(format="parquet", mode="current")
        project(self.spark, self.lake, out, self.tap_id, stream, settings)
        return _canonical(read_published_arrow(out, self.tap_id, stream))

    def queried(self, table: str) -> list[str]:
        """The rows that `singerlake sql` gives, without Spark."""
        select = f'select * from "{self.tap_id}"."{self.schema}-{table}"'
        return _canonical(query(self.lake, select, mode="current", metadata=False).table)

    def assert_current(self) -> None:
        for table in self.tables:
            source = shop.source(self.postgres, self.schema, table)
            for rows in (self.published(table), self.queried(table)):
                assert not Counter(rows) - Counter(source), f"{table}: rows that are not there"
                assert not Counter(source) - Counter(rows), f"{table}: rows are missing"


def _canonical(table: pa.Table) -> list[str]:
    """Without the tap's own columns."""
    names = [name for name in table.column_names if not name.startswith("_sdc_")]
    return shop.canonical(table.select(names).to_pylist())


@contextmanager
def _a_log_that_goes_on(postgres: Postgres) -> Iterator[None]:
    """A tap of the log ends when it has seen something newer than its beginning."""
    beat = "INSERT INTO beat VALUES (1);\n\\watch 0.2\n"
    command = postgres.psql()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        process.stdin.write(beat.encode())
        process.stdin.close()
        try:
            yield
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("package", "method"),
    [(PIPELINEWISE, "LOG_BASED"), (PIPELINEWISE, "FULL_TABLE"), (MELTANOLABS, "FULL_TABLE")],
)
def test_current_is_the_source(
    postgres: Postgres, spark: SparkSession, tmp_path: Path, package: str, method: str
) -> None:
    schema = f"{package.partition('-')[0]}_{method.lower()}"
    is_log = method == "LOG_BASED"
    tables = ("orders",) if is_log else ("orders", "visits")
    pipeline = Pipeline(postgres, spark, tmp_path, package, schema, method, tables)
    if is_log:
        postgres.sql(
            "SELECT pg_create_logical_replication_slot('pipelinewise_postgres', 'wal2json');"
        )
    pipeline.sql(f"CREATE SCHEMA {schema}; {shop.TABLES} {shop.LOADED}")
    pipeline.discover()
    pipeline.land()
    pipeline.assert_current()
    for name, change in shop.CHANGES.items():
        pipeline.sql(change)
        if is_log and name in UNSEEN:
            pipeline.state = None
        if name == "a changed type":
            pipeline.discover()
        pipeline.land()
        pipeline.assert_current()
    assert check(open_lake(pipeline.lake).store).clean
