"""How many requests a commit and a snapshot cost: exact, and the same whatever the stream's size.

Times are the benchmarks' part (docs/benchmarks.md).
"""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass
from datetime import timedelta

import pytest

from benchmarks.streams import END, SCHEMA, TAP, YEAR, Made, make
from singerlake.format.manifest import FAN_OUT, File
from singerlake.lake import Selection, open_on
from singerlake.lake.lake import Stream
from singerlake.lake.writer import Writer
from singerlake.store import Counting, MemoryStore

STREAM = "orders"
SIZES = pytest.mark.parametrize("size", [10, 10_000])
HOUR = timedelta(hours=1)

COMMIT = {"create": 2, "read": 1, "replace": 1, "delete_if": 1}
"""The lock and the file; the lock read back; the manifest; the lock removed."""


@dataclass(frozen=True)
class Counted:
    """A stream whose requests are counted."""

    store: Counting
    made: Made

    @property
    def stream(self) -> Stream:
        return Stream(self.store, TAP, STREAM)

    def requests(self) -> dict[str, int]:
        """What was sent since the last look; `promise` is remembered, not asked for."""
        counts = {kind: count for kind, count in self.store.counts.items() if kind != "promise"}
        self.store.reset()
        return counts

    def writer(self) -> Writer:
        return Writer(self.store, TAP, "run-1")

    def all_files(self) -> list[File]:
        files = list(self.stream.snapshot().files())
        self.store.reset()
        return files


def counted(size: int) -> Counted:
    """A registered stream of `size` files."""
    store = Counting(MemoryStore(uuid.uuid4().hex))
    made = make(store, STREAM, size)
    with open_on(store, create=True).writer(TAP) as writer:
        writer.write(schema_line())
    store.reset()
    return Counted(store, made)


def schema_line(stream: str = STREAM) -> bytes:
    message = {
        "type": "SCHEMA",
        "stream": stream,
        "schema": SCHEMA.schema,
        "key_properties": SCHEMA.key_properties,
    }
    return json.dumps(message).encode()


def commit(writer: Writer, stream: str = STREAM) -> tuple[File, ...]:
    writer.write(schema_line(stream))
    record = {"type": "RECORD", "stream": stream, "record": {"id": 1, "name": "a"}}
    writer.write(json.dumps(record).encode())
    return writer.commit()


@SIZES
def test_a_commit_costs_five_requests_whatever_the_size(size: int) -> None:
    # Not just before a seal: the commit that seals has a test of its own.
    lake = counted(size - 9)
    with lake.writer() as writer:
        commit(writer)
        lake.requests()
        for _ in range(8):
            (file,) = commit(writer)
            assert lake.requests() == COMMIT
    assert file.sequence == size


@SIZES
def test_the_first_commit_of_a_writer_reads_three_documents_more(size: int) -> None:
    lake = counted(size - 1)
    with lake.writer() as writer:
        commit(writer)
    assert lake.requests() == COMMIT | {"read": 1 + 3}


@pytest.mark.parametrize("others", [0, 3])
def test_the_first_commit_of_a_new_stream_lists_its_folder_and_asks_for_no_manifest(
    others: int,
) -> None:
    store = Counting(MemoryStore(uuid.uuid4().hex))
    with open_on(store, create=True).writer(TAP) as writer:
        for number in range(others):
            commit(writer, f"other-{number}")
        store.reset()
        commit(writer)
        counts = {kind: count for kind, count in store.counts.items() if kind != "promise"}
    # Of the tap's first stream: the lake document, and that there is no catalogue or folder yet;
    # the tap in that document, the catalogue, the empty manifest.
    first = {"read": 1 + 2, "create": 2 + 2, "replace": 1 + 1, "list": 1, "folders": 1}
    # Of a later one, as of a first one: the lock, the file, both manifests, the entry.
    later = {"read": 1, "create": 2 + 1, "replace": 1 + 1, "list": 1}
    assert counts == COMMIT | (later if others else first)


def test_the_first_commit_of_a_stream_that_is_known_reads_its_manifest_alone() -> None:
    """The catalogue was read for the stream before."""
    store = Counting(MemoryStore(uuid.uuid4().hex))
    for _ in range(2):
        with open_on(store, create=True).writer(TAP) as writer:
            commit(writer, "other")
            store.reset()
            commit(writer)
    assert {**store.counts, "promise": 0} == COMMIT | {"read": 1 + 1, "promise": 0}


@pytest.mark.parametrize("size", [2 * FAN_OUT, 10_000])
def test_a_commit_that_seals_costs_eight_requests(size: int) -> None:
    lake = counted(size - 1)
    with lake.writer() as writer:
        commit(writer)
        lake.requests()
        commit(writer)
        # The segment; the copy of the manifest, and a look at the one before.
        assert lake.requests() == COMMIT | {"create": 4, "read": 2}
        commit(writer)
        assert lake.requests() == COMMIT


def test_no_commit_costs_more_than_eight_requests_while_segments_are_sealed() -> None:
    # The level-1 segments of this stream come due as well while its files do.
    lake = counted(2 * FAN_OUT * FAN_OUT + 2 * FAN_OUT - 1)
    totals = []
    with lake.writer() as writer:
        commit(writer)
        lake.requests()
        for _ in range(4):
            commit(writer)
            totals.append(sum(lake.requests().values()))
    assert sorted(totals) == [5, 5, 6, 8], "of higher levels the segment alone"
    assert {segment.level for segment in lake.stream.snapshot().manifest.segments} == {1, 2}


@SIZES
def test_a_snapshot_is_one_get(size: int) -> None:
    lake = counted(size)
    assert lake.stream.snapshot().manifest.last_sequence == size
    assert lake.requests() == {"read": 1}


def test_the_last_hour_reads_the_manifest_alone() -> None:
    lake = counted(10_000)
    files = list(lake.stream.snapshot().files(Selection(start=END - HOUR)))
    assert lake.requests() == {"read": 1}
    assert files == [file for file in lake.all_files() if file.last >= END - HOUR]
    assert files


def test_an_hour_in_the_middle_reads_the_segment_that_holds_it() -> None:
    lake = counted(10_000)
    start = END - YEAR / 2 + timedelta(days=1)
    files = list(lake.stream.snapshot().files(Selection(start=start, end=start + HOUR)))
    assert lake.requests() == {"read": 2}
    assert files == [f for f in lake.all_files() if f.last >= start and f.first < start + HOUR]
    assert files


def test_what_is_new_since_a_bookmark_reads_the_manifest_alone() -> None:
    lake = counted(10_000)
    assert [file.sequence for file in lake.stream.snapshot().files(Selection(since=9_995))] == list(
        range(9_996, 10_001)
    )
    assert lake.requests() == {"read": 1}


def test_everything_reads_every_segment_once() -> None:
    lake = counted(10_000)
    assert len(list(lake.stream.snapshot().files())) == 10_000
    assert lake.requests() == {"read": 1 + len(lake.made.manifest.segments)}
