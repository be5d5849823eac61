"""Projections: every record once, whole versions, whatever dies on the way."""

from __future__ import annotations

import json
import random
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from singerlake.cli import main
from singerlake.errors import (
    DamageError,
    InputError,
)
from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.projection.document import Settings
from singerlake.spark import read_stream
from singerlake.spark.read_published import published, published_files, read_published
from singerlake.store import open_store
from tests.servers import S3Server
from tests.spark import lakes, projecting
from tests.spark.projecting import (
    NULLABLE,
    TAP,
    Projector,
    everything,
    simple,
    typed_row,
)

LISTS: dict[str, Any] = {"format": "parquet", "mode": "append", "partition_by": [], "sort_by": []}
FORMATS = ["parquet", "csv", "avro", "orc", "json"]


@pytest.mark.parametrize("file_format", FORMATS)
def test_every_type_comes_back_from_every_format(projector: Projector, file_format: str) -> None:
    projector.land(everything(range(30)), everything(range(30, 41)))
    done = projector.run("everything", Settings(format=file_format, mode="append"))
    assert (done.records, done.total_records, done.until) == (41, 41, 2)
    rows = projector.rows("everything")
    assert rows == [typed_row(number) for number in range(41)]
    frame = read_published(projector.spark, projector.out, TAP, "everything")
    assert frame.columns == list(NULLABLE)
    assert sorted(row.id for row in frame.select("id", "place").collect()) == list(range(41))


def test_spark_reads_the_parquet_files_by_itself(projector: Projector) -> None:
    projector.land(everything(range(12)))
    projector.run("everything")
    frame = projector.spark.read.parquet(*published_files(projector.out, TAP, "everything"))
    ours = read_published(projector.spark, projector.out, TAP, "everything")
    assert frame.schema.simpleString() == ours.schema.simpleString()
    assert sorted(map(str, frame.collect())) == sorted(map(str, ours.collect()))


def test_a_second_run_adds_what_is_new_and_nothing_else(projector: Projector) -> None:
    projector.land(simple(range(10)), simple(range(10, 15)))
    first = projector.run()
    before = projector.data_files()
    projector.land(simple(range(15, 18)))
    second = projector.run()
    third = projector.run(settings=Settings(**LISTS))
    assert (first.since, first.until, first.records) == (0, 2, 15)
    assert (second.since, second.until, second.records, second.raw_files) == (2, 3, 3, 1)
    assert (third.status, third.version, third.total_records) == ("unchanged", 2, 18)
    assert before < projector.data_files()
    assert projector.ids() == list(range(18))


def test_a_small_increment_is_one_file(projector: Projector) -> None:
    projector.land(*(simple([number]) for number in range(10)))
    assert projector.run().files == 1


def test_a_dry_run_changes_nothing(projector: Projector) -> None:
    projector.land(simple(range(10)))
    done = projector.run(dry_run=True)
    assert (done.status, done.raw_files, done.raw_records) == ("planned", 1, 10)
    assert not Path(projector.out).exists()


@pytest.mark.parametrize("file_format", FORMATS)
def test_a_new_column_is_null_in_older_files(projector: Projector, file_format: str) -> None:
    settings = Settings(format=file_format, mode="append")
    projector.land(simple(range(3)))
    projector.run(settings=settings)
    projector.land(simple(range(3, 5), added=7))
    projector.run(settings=settings)
    rows = projector.rows()
    assert [row["added"] for row in rows] == [None, None, None, 7, 7]
    frame = read_published(projector.spark, projector.out, TAP, "orders")
    assert frame.where("added = 7").count() == 2


@pytest.mark.parametrize("file_format", ["parquet", "csv"])
def test_a_column_whose_type_changed_keeps_every_value(
    projector: Projector, file_format: str
) -> None:
    settings = Settings(format=file_format, mode="append")
    for schema, value in (
        ({"type": "null"}, None),
        ({"type": "integer"}, 1),
        ({"type": "string"}, "one"),
        ({"type": "object", "properties": {"n": {"type": "integer"}}}, {"n": 1}),
    ):
        projector.land(projecting.commit_of("s", schema, value))
        projector.run("s", settings)
    added = [row["v"] for row in projector.rows("s")]
    assert added == [None, "1", '"one"', '{"n": 1}']
    projector.run("s", settings, full=True)
    assert [row["v"] for row in projector.rows("s")] == added


def test_a_column_that_was_null_takes_the_type_that_it_gets(projector: Projector) -> None:
    projector.land(projecting.commit_of("s", {"type": "null"}, None))
    projector.run("s")
    projector.land(projecting.commit_of("s", {"type": "array", "items": {"type": "integer"}}, [1]))
    projector.run("s")
    assert [row["v"] for row in projector.rows("s")] == [None, [1]]


def test_strings_of_an_older_document_stay_as_they_are(projector: Projector) -> None:
    projector.land(projecting.commit_of("s", {"type": "string"}, "abc"))
    projector.run("s")
    (document,) = Path(projector.out).rglob("published.json")
    found = json.loads(document.read_text())
    for schema in (found["schema"], *found["schemas"]):
        for field in schema["fields"]:
            field["metadata"] = {}
    document.write_text(json.dumps(found))
    projector.land(projecting.commit_of("s", {"type": "object"}, {"x": 1}))
    projector.run("s")
    assert [row["v"] for row in projector.rows("s")] == ["abc", '{"x": 1}']


def test_a_stream_without_records_is_not_published(projector: Projector) -> None:
    projector.land(simple([]))
    assert projector.run().status == "unchanged"
    assert not Path(projector.out).exists()


def test_an_emptied_table_is_published_empty(projector: Projector) -> None:
    messages = simple(range(3))
    activation = {"type": "ACTIVATE_VERSION", "stream": "orders", "version": 2}
    projector.land([messages[0], *({**row, "version": 1} for row in messages[1:])])
    settings = Settings(format="orc", mode="current")
    projector.run(settings=settings)
    projector.land([messages[0], activation])
    assert projector.run(settings=settings).total_records == 0
    assert projector.rows() == []
    assert read_published(projector.spark, projector.out, TAP, "orders").count() == 0


def test_a_damaged_raw_file_fails_the_run_with_its_own_error(projector: Projector) -> None:
    projector.land(simple(range(3)))
    (file,) = Path(projector.lake).rglob("*.singer.gz")
    file.write_bytes(file.read_bytes()[:-9])
    with pytest.raises((DamageError, InputError), match="singerlake check"):
        projector.run()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_streams_of_the_sdk_come_back(projector: Projector) -> None:
    fixtures = sorted(path.name for path in lakes.FIXTURES.glob("*.singer"))
    landed: dict[str, int] = {}
    for name in fixtures:
        if lakes.land_fixture(projector.lake, name) is not None:
            for stream, records in lakes.sent_records(name).items():
                landed[stream] = landed.get(stream, 0) + len(records)
    assert len(landed) > 5
    for stream, count in landed.items():
        projector.run(stream, Settings(format="parquet", mode="append"))
        source = read_stream(projector.spark, projector.lake, TAP, stream)
        ours = read_published(projector.spark, projector.out, TAP, stream)
        assert ours.columns == source.columns
        rows = sorted(map(str, source.collect()))
        assert sorted(map(str, ours.collect())) == rows
        assert len(rows) == count


class Source:
    """A table that changes, as a tap tells of it, and what should be there in the end."""

    PROPERTIES: ClassVar[dict[str, Any]] = {
        "id": {"type": "integer"},
        "value": {"type": ["null", "integer"]},
        "_sdc_deleted_at": {"type": ["null", "string"], "format": "date-time"},
    }

    def __init__(self, seed: int, versions: bool) -> None:
        self._random, self._versions = random.Random(seed), versions
        self._version = 1 if versions else None
        self._activated = 0
        self._log: list[tuple[int | None, dict[str, Any]]] = []

    def commit(self) -> list[dict[str, Any]]:
        """The messages of the next commit."""
        messages = [projecting.schema_message("t", self.PROPERTIES)]
        for _ in range(self._random.randrange(1, 12)):
            if self._version is not None and self._random.random() < 0.1:
                messages.append(
                    {"type": "ACTIVATE_VERSION", "stream": "t", "version": self._version}
                )
                self._activated = self._version
                self._version += self._random.randrange(2)
                continue
            record = {"id": self._random.randrange(8), "value": len(self._log)}
            if self._random.random() < 0.2:
                record["_sdc_deleted_at"] = "2026-01-01T00:00:00Z"
            self._log.append((self._version, record))
            messages.append(projecting.record_message("t", record, len(self._log), self._version))
        return messages

    def rows(self) -> dict[int, int]:
        """The value of each key that is there."""
        found: dict[int, dict[str, Any]] = {}
        for version, record in self._log:
            if version is None or version >= self._activated:
                found[record["id"]] = record
        return {
            key: record["value"]
            for key, record in found.items()
            if record.get("_sdc_deleted_at") is None
        }


@pytest.mark.parametrize("versions", [False, True], ids=["changes", "full-table versions"])
@pytest.mark.parametrize("seed", range(2))
def test_current_is_what_the_source_has(projector: Projector, seed: int, versions: bool) -> None:
    source = Source(seed, versions)
    settings = Settings(format="parquet", mode="current", partition_by=("value",) if seed else ())
    for run in range(3):
        projector.land(*(source.commit() for _ in range(4)))
        done = projector.run("t", settings, grace=timedelta(0))
        rows = projector.rows("t")
        assert {row["id"]: row["value"] for row in rows} == source.rows()
        assert len(rows) == done.total_records == len(source.rows())
        assert done.version == run + 1
    assert projector.run("t", settings).status == "unchanged"
    # Nothing of older versions is left after the grace period.
    assert len(projector.data_files()) == len(published(projector.out, TAP, "t").files)


def test_merged_files_are_published_once(projector: Projector) -> None:
    projector.land(*(simple([number]) for number in range(10)))
    projector.run()
    projector.land(*(simple([number]) for number in range(10, 20)))
    store, keys = open_store(projector.lake), StreamKeys(TAP, "orders")
    # One file now bears numbers that are published and numbers that are not.
    vacuum(store, keys, VacuumOptions())
    assert len(Lake(store).stream(TAP, "orders").snapshot().manifest.files) == 1
    done = projector.run()
    assert (done.records, done.raw_records) == (10, None)
    assert projector.ids() == list(range(20))


@pytest.mark.slow
def test_on_s3_from_lake_to_files(spark: SparkSession, seaweedfs: S3Server) -> None:
    bucket = seaweedfs.new_bucket()
    projector = Projector(
        spark, f"s3://{bucket}/lake", f"s3://{bucket}/out", seaweedfs.storage_options()
    )
    settings = Settings(format="parquet", mode="append", partition_by=("active",))
    projector.land(everything(range(20)))
    projector.run("everything", settings)
    projector.land(everything(range(20, 30)))
    assert projector.run("everything", settings).records == 10
    rows = sorted(projector.rows("everything"), key=lambda row: row["id"])
    assert rows == [typed_row(number) for number in range(30)]
    files = published_files(projector.out, TAP, "everything", projector.options)
    assert all(file.startswith(f"s3://{bucket}/out/") for file in files)
    frame = read_published(spark, projector.out, TAP, "everything", projector.options)
    assert frame.count() == 30


def test_the_command(projector: Projector) -> None:
    projector.land(simple(range(10)), simple(range(5), stream="other"))
    given = ["project", projector.lake, projector.out, "--tap", TAP, "--format", "json", "--json"]
    run = CliRunner().invoke(main, given)
    assert run.exit_code == 0, run.output
    assert [(row["stream"], row["records"]) for row in json.loads(run.stdout)] == [
        ("orders", 10),
        ("other", 5),
    ]
    run = CliRunner().invoke(main, [*given[:-1], "--stream", "orders"])
    assert run.exit_code == 0
    assert "unchanged" in run.stdout
    run = CliRunner().invoke(main, [*given, "--sort-by", "id"])
    assert run.exit_code == 2
    assert "--full" in run.stderr
    assert [row["status"] for row in json.loads(run.stdout)] == ["failed", "failed"]


def test_the_command_tells_of_a_stream_that_is_not_there(tmp_path: Path) -> None:
    projecting.land(str(tmp_path / "lake"), [simple(range(3))])
    given = ["project", str(tmp_path / "lake"), str(tmp_path / "out"), "--tap", TAP, "--dry-run"]
    run = CliRunner().invoke(main, [*given, "--json", "--stream", "orders", "--stream", "nothing"])
    assert run.exit_code == 2
    rows = [(row["stream"], row["status"]) for row in json.loads(run.stdout)]
    assert rows == [("orders", "planned"), ("nothing", "failed")]


@pytest.mark.parametrize("grace", ["1e300", "100000000", "nan", "-1"])
def test_the_command_refuses_a_grace_that_no_date_can_hold(grace: str) -> None:
    run = CliRunner().invoke(main, ["project", ".", "out", "--tap", TAP, "--grace", grace])
    assert run.exit_code == 2
    assert "Invalid value for '--grace'" in run.stderr
