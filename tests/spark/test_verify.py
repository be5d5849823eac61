"""Verify finds what check finds, and says it the same way."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from pyspark.sql import SparkSession

from singerlake.cli import main
from singerlake.format.keys import FileName
from singerlake.lake import check
from singerlake.lake.check_stream import Examination
from singerlake.lake.inventory import ListedFile
from singerlake.spark import verify as job
from singerlake.spark.verify import packed, verify
from singerlake.store import Store, open_store
from tests.lake import landing
from tests.lake.landing import EPOCH, KEYS, QUICK, STREAM, TAP
from tests.servers import S3Server


def damaged(store: Store, root: Path | None = None) -> None:
    """A lake with something of everything: whole streams, orphans, a bad row, a short file."""
    landing.land_each(store, range(12))
    landing.land(store, range(5), stream="a/b", version=2)
    landing.put_orphan(store, 99)
    landing.edit(store, KEYS.manifest, lambda body: body["files"][2].update(records=7))
    if root is not None:
        file = root / KEYS.under(landing.paths_in(store)[4])
        file.write_bytes(file.read_bytes()[:-9])
        (root / KEYS.under(landing.paths_in(store)[5])).unlink()


def test_a_whole_lake_is_clean(spark: SparkSession, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    landing.land_each(store, range(20))
    report = verify(spark, store, times=QUICK)
    assert report.clean
    assert report == check(store, times=QUICK)
    assert (report.files, report.records) == (20, 20)


def test_it_finds_what_check_finds(spark: SparkSession, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    damaged(store, tmp_path)
    report, expected = verify(spark, store, times=QUICK), check(store, times=QUICK)
    assert report == expected
    assert landing.codes(report) == ["file-corrupt", "file-missing", "file-records", "orphan-file"]


def test_a_part_of_the_lake_alone(spark: SparkSession, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    damaged(store, tmp_path)
    assert verify(spark, store, TAP, "a/b", times=QUICK).clean
    assert not verify(spark, store, TAP, STREAM, times=QUICK).clean


def test_many_files_are_several_jobs(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    damaged(store, tmp_path)
    monkeypatch.setattr(job, "FILES_PER_JOB", 7)
    assert verify(spark, store, times=QUICK) == check(store, times=QUICK)


@pytest.mark.slow
def test_a_lake_on_s3(spark: SparkSession, seaweedfs: S3Server) -> None:
    store = open_store(f"s3://{seaweedfs.new_bucket()}/lake", seaweedfs.storage_options())
    damaged(store)
    report = verify(spark, store, times=QUICK)
    assert report == check(store, times=QUICK)
    assert landing.codes(report) == ["file-records", "orphan-file"]


def test_files_are_packed_by_size() -> None:
    def file(size: int) -> Examination:
        name = FileName(STREAM, EPOCH, EPOCH)
        return Examination(KEYS, ListedFile("x", name, size, EPOCH))

    small = [file(10) for _ in range(5000)]
    groups = list(packed(small, 2))
    assert [item for group in groups for item in group] == small
    assert len(groups) < 20
    assert max(map(len, groups)) <= job.FILES_PER_TASK
    large = [file(10**9) for _ in range(5)]
    assert [len(group) for group in packed(large, 2)] == [1] * 5
    assert list(packed([], 2)) == []


def test_the_command_answers_as_check_does(spark: SparkSession, tmp_path: Path) -> None:
    store = open_store(tmp_path)
    damaged(store, tmp_path)
    lake = str(tmp_path)
    ours = CliRunner().invoke(main, ["verify", lake, "--json"])
    theirs = CliRunner().invoke(main, ["check", lake, "--json"])
    assert (ours.exit_code, theirs.exit_code) == (1, 1)
    assert json.loads(ours.stdout) == json.loads(theirs.stdout)
    whole = CliRunner().invoke(main, ["verify", lake, "--tap", TAP, "--stream", "a/b"])
    assert whole.exit_code == 0
    assert "0 errors" in whole.stdout
    assert CliRunner().invoke(main, ["verify", lake, "--stream", "a/b"]).exit_code == 2


def test_without_spark_the_command_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    landing.land(open_store(tmp_path), range(3))

    def missing(name: str) -> None:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr("importlib.import_module", missing)
    run = CliRunner().invoke(main, ["verify", str(tmp_path)])
    assert run.exit_code == 2
    assert 'pip install "singerlake[spark]"' in run.stderr
