"""As of a pin, the tap, Spark, a projection and SQL give what they gave on the first day."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from singerlake.cli import main
from singerlake.errors import StaleBookmark
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import vacuum
from singerlake.projection import published
from singerlake.projection.document import Settings
from singerlake.spark import read_current, read_stream, read_tap
from singerlake.spark.project import project
from singerlake.sql import query
from singerlake.store import LocalStore, Store
from tests.lake.landing import KEYS, STREAM, TAP, assert_clean, land, land_each, new_store
from tests.lake.merging import AT_ONCE, OPTIONS
from tests.lake.running import Running
from tests.tap.replay import replay

OTHER = "customers"
LATER = "later"
STREAMS = (OTHER, STREAM)
COMMITS = 1_000


def on_disk(store: Store, folder: Path) -> Path:
    """The lake as it is now, where Spark's workers find it."""
    disk = LocalStore(folder)
    for row in store.list(""):
        disk.create(row.key, store.read(row.key).data)
    return folder


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The lake on the day of the pin, and after all that may happen to a lake."""
    store = new_store()
    for version in (1, 2):
        land_each(store, range(10 * version, 10 * version + 3), version=version)
    land(store, [1, 2], OTHER)
    running = Running(store, "open")
    running.commit([99], version=2)
    Lake(store).pin("first day")
    first = on_disk(store, tmp_path_factory.mktemp("first") / "lake")
    running.commit([100], version=2)
    running.end(bookmark=True)
    land_each(store, range(100, 100 + COMMITS // 2), version=2)
    land_each(store, range(1_000, 1_000 + COMMITS // 2), version=3)
    land(store, [1, 2, 3], OTHER, version=4)
    land(store, [7], LATER)
    for stream in (STREAM, OTHER, LATER):
        keys = StreamKeys(TAP, stream)
        vacuum(store, keys, OPTIONS)
        purge(store, keys, AT_ONCE, abandoned=AT_ONCE)
    rebuild(store)
    assert_clean(store)
    return first, on_disk(store, tmp_path_factory.mktemp("last") / "lake")


def checksum(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()


Reader = Callable[[SparkSession, Path, Path, str | None], str]


def by_tap(versions: str) -> Reader:
    def read(spark: SparkSession, root: Path, out: Path, as_of: str | None) -> str:
        config: dict[str, Any] = {"lake_root": str(root), "tap_id": TAP, "streams": list(STREAMS)}
        asked = {"as_of": as_of} if as_of else {}
        return checksum(*replay(config | {"schema_versions": versions} | asked).data)

    return read


def by_spark(read_one: Callable[..., Any]) -> Reader:
    def read(spark: SparkSession, root: Path, out: Path, as_of: str | None) -> str:
        found = [read_one(spark, root, TAP, stream, as_of=as_of) for stream in STREAMS]
        return checksum(*((df.schema, sorted(map(repr, df.collect()))) for df in found))

    return read


def by_projection(mode: str) -> Reader:
    def read(spark: SparkSession, root: Path, out: Path, as_of: str | None) -> str:
        parts = []
        for stream in STREAMS:
            project(
                spark, root, out, TAP, stream, Settings(format="parquet", mode=mode), as_of=as_of
            )
            version = published(out, TAP, stream)
            table = query(root, f'from published."{TAP}"."{stream}"', published=out).table
            parts.append((version.schema, version.sequence, sorted(map(repr, table.to_pylist()))))
        return checksum(*parts)

    return read


def by_sql(mode: str) -> Reader:
    def read(spark: SparkSession, root: Path, out: Path, as_of: str | None) -> str:
        tables = [
            query(root, f'from "{stream}"', mode=mode, as_of=as_of, metadata=False).table
            for stream in STREAMS
        ]
        return checksum(*((one.schema, sorted(map(repr, one.to_pylist()))) for one in tables))

    return read


READERS = {
    "tap": by_tap("all"),
    "tap, merged": by_tap("merged"),
    "tap, latest": by_tap("latest"),
    "read_stream": by_spark(read_stream),
    "read_current": by_spark(read_current),
    "project": by_projection("append"),
    "project, current": by_projection("current"),
    "sql": by_sql("append"),
    "sql, current": by_sql("current"),
}


@pytest.mark.parametrize("reader", READERS)
def test_as_of_the_pin_everything_is_as_it_was(
    spark: SparkSession, days: tuple[Path, Path], tmp_path: Path, reader: str
) -> None:
    first, last = days
    read = READERS[reader]
    then = read(spark, first, tmp_path / "then", None)
    assert read(spark, first, tmp_path / "pinned", "pin:first day") == then
    assert read(spark, last, tmp_path / "later", "first day") == then
    assert read(spark, last, tmp_path / "now", None) != then, "the pin makes the difference"


def test_a_stream_that_came_later_is_empty(
    spark: SparkSession, days: tuple[Path, Path], tmp_path: Path
) -> None:
    _, last = days
    frames = read_tap(spark, last, TAP, as_of="first day")
    assert {name: df.count() for name, df in frames.items()} == {OTHER: 2, STREAM: 7, LATER: 0}
    assert read_current(spark, last, TAP, LATER, as_of="first day").count() == 0
    assert query(last, f"from {LATER}", as_of="first day").table.num_rows == 0
    config = {"lake_root": str(last), "tap_id": TAP, "as_of": "first day", "streams": [LATER]}
    assert replay(config).records() == []
    done = project(
        spark,
        last,
        tmp_path / "out",
        TAP,
        LATER,
        Settings(format="parquet", mode="append"),
        as_of="first day",
    )
    assert (done.total_records, done.until) == (0, 0)


def test_a_log_that_was_numbered_anew_is_refused_by_name(
    spark: SparkSession, tmp_path: Path
) -> None:
    store = LocalStore(tmp_path / "lake")
    land(store, [1])
    Lake(store).pin("p")
    store.delete(KEYS.manifest)
    rebuild(store)
    root = tmp_path / "lake"
    with pytest.raises(PySparkException, match="pin 'p'"):
        read_stream(spark, root, TAP, STREAM, as_of="p").collect()
    with pytest.raises(StaleBookmark, match="pin 'p'"):
        project(
            spark,
            root,
            tmp_path / "out",
            TAP,
            STREAM,
            Settings(format="parquet", mode="append"),
            as_of="p",
        )
    with pytest.raises(StaleBookmark, match="pin 'p'"):
        query(root, f"from {STREAM}", as_of="p")
    with pytest.raises(StaleBookmark, match="pin 'p'"):
        replay({"lake_root": str(root), "tap_id": TAP, "as_of": "p"})


def test_whoever_reads_all_streams_misses_one_that_nobody_knows_any_more(
    spark: SparkSession, tmp_path: Path
) -> None:
    root = tmp_path / "lake"
    store = LocalStore(root)
    land(store, [1])
    land(store, [2], OTHER)
    Lake(store).pin("p")
    for row in list(store.list(KEYS.folder)):
        store.delete(row.key)
    store.delete(key_names.catalogue(TAP))
    rebuild(store)
    with pytest.raises(StaleBookmark, match=r"pin 'p': .*'orders'"):
        read_tap(spark, root, TAP, as_of="p")
    command = ["project", str(root), TAP, "--out", str(tmp_path / "out"), "--as-of", "p"]
    ran = CliRunner().invoke(main, [*command, "--dry-run"])
    assert ran.exit_code == 2
    assert "pin 'p'" in ran.output
    assert CliRunner().invoke(main, [*command, "--stream", OTHER, "--dry-run"]).exit_code == 0
