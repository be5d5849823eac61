"""Planning: few requests, few partitions, in order, whatever the number of files."""

from __future__ import annotations

import pickle
from datetime import timedelta

import pytest
from pyspark.sql.datasource import EqualTo, GreaterThan
from pyspark.sql.types import StructType

from singerlake.decode.request import Wanted
from singerlake.errors import ConfigError
from singerlake.format import document
from singerlake.format.manifest import FAN_OUT, File, Manifest
from singerlake.lake import commit, snapshot
from singerlake.spark import options as read_options
from singerlake.spark import plan
from singerlake.spark.source import FilteringReader, SingerlakeSource
from singerlake.store import Counting, MemoryStore
from tests.lake.landing import EPOCH, KEYS, STREAM, TAP, land, land_each, new_store, schema_hash

MANY = 100_000


def file(number: int, raw_bytes: int = 1000) -> File:
    moment = EPOCH + timedelta(seconds=number)
    stamp = f"{moment:%Y%m%dT%H%M%S}.000000Z"
    return File(
        path=f"{schema_hash()}/{STREAM}-{stamp}-{stamp}.singer.gz",
        sequence=number,
        records=1,
        bytes=max(1, raw_bytes // 8),
        raw_bytes=raw_bytes,
        first=moment,
        last=moment,
        checksum="sha256:" + "0" * 64,
        committed=moment,
    )


def packed(files: list[File], size: int = 256 << 20, parallelism: int = 2) -> list[list[int]]:
    options = read_options.ReadOptions("/", TAP, STREAM)
    found = plan.pack(files, options.selection(), size, parallelism)
    return [[f.sequence for f in p.files] for p in found if isinstance(p, plan.FilesPartition)]


def test_a_thousand_tiny_files_are_few_tasks_in_order() -> None:
    found = packed([file(number) for number in range(1, 1001)])
    assert len(found) < 10
    assert [number for run in found for number in run] == list(range(1, 1001))


def test_large_files_are_spread() -> None:
    assert packed([file(n, 200 << 20) for n in range(1, 5)]) == [[1], [2], [3], [4]]
    assert packed([file(n, 7 << 20) for n in range(1, 9)]) == [[1, 2, 3, 4], [5, 6, 7, 8]]
    assert packed([file(n, 7 << 20) for n in range(1, 9)], size=16 << 20) == [
        [1, 2],
        [3, 4],
        [5, 6],
        [7, 8],
    ]
    assert packed([file(n, 10 << 20) for n in range(1, 9)], parallelism=8) == [
        [n] for n in range(1, 9)
    ]
    assert packed([file(1, 1 << 40)]) == [[1]]
    assert packed([]) == []


@pytest.mark.parametrize("megabytes", [30, 40])
@pytest.mark.parametrize("cores", [2, 5])
def test_ten_equal_files_are_the_same_work_for_every_core(megabytes: int, cores: int) -> None:
    busy = [0] * cores
    for run in packed([file(n, megabytes << 20) for n in range(1, 11)], parallelism=cores):
        busy[busy.index(min(busy))] += len(run)
    assert busy == [10 // cores] * cores


@pytest.mark.parametrize(("count", "kilobytes"), [(1740, 1024), (104, 25_600), (30, 25_600)])
def test_partitions_of_the_largest_size_are_even_too(count: int, kilobytes: int) -> None:
    runs = packed([file(n, kilobytes << 10) for n in range(1, count + 1)])
    lengths = sorted(map(len, runs))
    assert lengths[-1] - lengths[0] <= 1
    assert len(runs) % 2 == 0
    assert sum(lengths) == count


def test_a_plan_shows_no_files_and_no_secrets() -> None:
    options = read_options.parse(
        {"path": "s3://b", "tap": "t", "stream": "s", "storage_options": '{"proxy": "hush"}'}
    )
    assert "hush" not in repr(options)
    source = SingerlakeSource({"path": "s3://b", "storage_options": '{"proxy": "hush"}'})
    assert "hush" not in repr(source)
    [partition] = plan.pack([file(1)], options.selection(), 1 << 20, 1)
    assert repr(partition) == "FilesPartition(1 files)"


def test_a_source_with_a_secret_in_its_options_is_not_made_and_so_not_pickled() -> None:
    with pytest.raises(ConfigError, match=r"holds secret word for word.*lend\(spark") as told:
        SingerlakeSource({"path": "s3://b", "storage_options": '{"secret": "hush"}'})
    assert "hush" not in str(told.value)
    SingerlakeSource({"path": "s3://b", "storage_options": '{"secret": {"from_env": "HUSH"}}'})


def test_an_address_with_a_password_is_refused_before_it_is_in_a_plan() -> None:
    given = {"path": "ftp://me:hush@host/lake", "tap": "t", "stream": "s"}
    with pytest.raises(ConfigError, match="ftp://host/lake: a password") as told:
        read_options.parse(given)
    assert "hush" not in str(told.value)
    for address in ("abfs://container@account/lake", "sftp://me@host/lake"):
        assert read_options.parse({**given, "path": address}).root == address


@pytest.fixture(scope="module")
def many() -> MemoryStore:
    """A stream of a hundred thousand files, of which only the rows are there."""
    store = new_store()
    land(store, [0])
    head = commit.open_log(store, KEYS, "test")
    manifest = Manifest(
        tap_id=TAP,
        stream=STREAM,
        log_id=head.manifest.log_id,
        commit=head.manifest.commit,
        last_sequence=MANY,
        versions=head.manifest.versions,
        files=tuple(file(number) for number in range(1, MANY + 1)),
    )
    sealed = commit.seal_all(store, KEYS, manifest)
    store.replace(KEYS.manifest, document.encode(sealed), head.version)
    return store


def reader_of(store: Counting, **options: str) -> FilteringReader:
    given = read_options.parse({"path": "/", "tap": TAP, "stream": STREAM, **options})
    stream, wanted = snapshot.take(store, KEYS), Wanted((), given.metadata)
    return FilteringReader(stream, given, wanted, StructType(), given.covered(stream))


@pytest.mark.slow
def test_a_hundred_thousand_files_are_planned_from_the_manifest_alone(many: MemoryStore) -> None:
    store = Counting(many)
    reader = reader_of(store)
    partitions = reader.partitions()
    assert sum(len(p.files) for p in partitions if isinstance(p, plan.FilesPartition)) == MANY
    assert len(partitions) < 1000
    segments = sum(1 for row in many.list(f"{KEYS.folder}/_segments"))
    assert store.counts == {"read": 1 + segments}
    assert segments < MANY // FAN_OUT * 1.1
    # What goes to every task does not hold the plan.
    assert len(pickle.dumps(reader)) < 10_000


@pytest.mark.slow
def test_a_filter_on_the_last_hour_reads_the_last_segments_only(many: MemoryStore) -> None:
    store = Counting(many)
    reader = reader_of(store, metadata="_time_extracted")
    last_hour = EPOCH + timedelta(seconds=MANY - 3600)
    filters = [GreaterThan(("_time_extracted",), last_hour)]
    assert reader.pushFilters(list(filters)) == filters
    found = [f for p in reader.partitions() if isinstance(p, plan.FilesPartition) for f in p.files]
    assert [f.sequence for f in found] == list(range(MANY - 3600, MANY + 1))
    assert store.counts["read"] < 50


def test_a_filter_on_a_property_that_is_named_like_metadata_skips_nothing() -> None:
    store = new_store()
    land_each(store, range(3))
    reader = reader_of(Counting(store))
    reader.pushFilters([EqualTo(("_sequence",), 3)])
    [partition] = reader.partitions()
    assert isinstance(partition, plan.FilesPartition)
    assert len(partition.files) == 3


def test_the_files_of_a_stream_without_a_manifest_are_planned_by_listing() -> None:
    store = new_store()
    land_each(store, range(3))
    store.delete(KEYS.manifest)
    [partition] = reader_of(Counting(store)).partitions()
    assert isinstance(partition, plan.FilesPartition)
    assert [f.sequence for f in partition.files] == [1, 2, 3]
