"""Projections: what is asked for and cannot be is refused, before anything is written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from singerlake.cli import main
from singerlake.errors import ConfigError, StaleBookmark, UnknownStream
from singerlake.lake import rebuild
from singerlake.projection.document import Settings
from singerlake.spark.read_published import published
from singerlake.store import open_store
from tests.spark import projecting
from tests.spark.projecting import TAP, Projector, everything, simple


def test_other_settings_need_full(projector: Projector) -> None:
    projector.land(simple(range(5)))
    projector.run()
    settings = Settings(format="csv", mode="append", partition_by=("shop",))
    with pytest.raises(ConfigError, match=r"format was 'parquet', now 'csv'.*--full"):
        projector.run(settings=settings)
    done = projector.run(settings=settings, full=True)
    assert (done.version, done.total_records) == (2, 5)
    assert projector.ids() == list(range(5))


@pytest.mark.parametrize(
    "settings",
    [
        Settings(format="excel", mode="append"),
        Settings(format="parquet", mode="upsert"),
        Settings(format="parquet", mode="append", numbers="float"),  # type: ignore[arg-type]
        Settings(format="parquet", mode="append", partition_by=("nothing",)),
        Settings(format="parquet", mode="append", partition_by=("id:day",)),
        Settings(format="parquet", mode="append", partition_by=("place",)),
        Settings(format="parquet", mode="append", sort_by=("counts",)),
        Settings(format="parquet", mode="append", sort_by=("id:sideways",)),
        Settings(format="parquet", mode="append", metadata=("_nothing",)),
    ],
)
def test_wrong_settings_are_refused(projector: Projector, settings: Settings) -> None:
    projector.land(everything(range(3)))
    for dry_run in (True, False):
        with pytest.raises(ConfigError):
            projector.run("everything", settings, dry_run=dry_run)
    assert not Path(projector.out).exists()


INTEGER = {"type": "integer"}
TIME = {"type": "string", "format": "date-time"}
MAP = {"type": "object", "additionalProperties": INTEGER}
UNFIT: dict[str, tuple[dict[str, Any], list[str], Settings]] = {
    "names that differ in case only": (
        {"id": INTEGER, "ID": INTEGER},
        ["id"],
        Settings(format="parquet", mode="append"),
    ),
    "names within a column that differ in case only": (
        {"id": {"type": "object", "properties": {"a": INTEGER, "A": INTEGER}}},
        [],
        Settings(format="parquet", mode="append"),
    ),
    "an order by a map within": (
        {"id": {"type": "object", "properties": {"m": MAP}}},
        [],
        Settings(format="parquet", mode="append", sort_by=("id",)),
    ),
    "partitions of one name": (
        {"at": TIME, "at_day": {"type": "string"}},
        [],
        Settings(format="parquet", mode="append", partition_by=("at:day", "at_day")),
    ),
    "a key that is not declared": (
        {"x": INTEGER},
        ["id"],
        Settings(format="parquet", mode="current"),
    ),
    "a key that is a map": ({"id": MAP}, ["id"], Settings(format="parquet", mode="current")),
    "a key with a map within": (
        {"id": {"type": "array", "items": MAP}},
        ["id"],
        Settings(format="parquet", mode="current"),
    ),
    "a name that tells which rows are current": (
        {"id": INTEGER, "_sequence": INTEGER},
        ["id"],
        Settings(format="parquet", mode="current"),
    ),
}


@pytest.mark.parametrize("unfit", UNFIT)
def test_columns_that_a_run_refuses_are_refused_by_a_dry_run(
    projector: Projector, unfit: str
) -> None:
    properties, keys, settings = UNFIT[unfit]
    message = projecting.record_message("s", {}, 1)
    projector.land([projecting.schema_message("s", properties, keys), message])
    told = []
    for dry_run in (True, False):
        with pytest.raises(ConfigError) as refused:
            projector.run("s", settings, dry_run=dry_run)
        told.append(str(refused.value))
    assert told[0] == told[1]
    assert not Path(projector.out).exists()


def test_keys_that_cannot_be_compared_are_no_matter_to_append(projector: Projector) -> None:
    schema = projecting.schema_message("s", {"id": MAP}, ["id", "nothing"])
    projector.land([schema, projecting.record_message("s", {"id": {"a": 1}}, 1)])
    assert projector.run("s", dry_run=True).status == "planned"
    assert projector.run("s").records == 1


def test_a_session_that_heeds_case_publishes_names_that_differ_by_it(projector: Projector) -> None:
    schema = projecting.schema_message("s", {"id": INTEGER, "ID": INTEGER})
    projector.land([schema, projecting.record_message("s", {"id": 1, "ID": 2}, 1)])
    given = ["project", projector.lake, projector.out, "--tap", TAP, "--dry-run"]
    assert CliRunner().invoke(main, given).exit_code == 2
    heeding = [*given, "--conf", "spark.sql.caseSensitive=true"]
    assert CliRunner().invoke(main, heeding).exit_code == 0
    projector.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        assert projector.run("s", dry_run=True).status == "planned"
        projector.run("s")
    finally:
        projector.spark.conf.set("spark.sql.caseSensitive", "false")
    assert projector.rows("s") == [{"id": 1, "ID": 2}]


def test_a_renumbered_log_needs_full(projector: Projector) -> None:
    projector.land(simple(range(5)), simple(range(5, 8)))
    projector.run()
    (manifest,) = Path(projector.lake).glob("raw/*/*/manifest.json")
    manifest.unlink()
    rebuild(open_store(projector.lake))
    with pytest.raises(StaleBookmark, match="--full"):
        projector.run()
    projector.run(full=True)
    assert projector.ids() == list(range(8))


def test_nothing_published_is_an_error_for_readers(projector: Projector) -> None:
    with pytest.raises(UnknownStream, match="singerlake project"):
        published(projector.out, TAP, "orders")
