"""The ingester over a real lake: what each event does to an index."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.index import ingester as ingesters
from singerlake.index.check import check_index
from singerlake.index.commit import NamedFile
from singerlake.index.entry import micros, named_file_path
from singerlake.index.export import export_lines
from singerlake.index.ingester import Ingester, follow
from singerlake.index.open import open_index
from singerlake.index.page import read_page
from singerlake.index.query import Query, answer
from singerlake.index.rebuild import rebuild_index
from singerlake.index.scan import scan_lake
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake, markers, open_lake
from singerlake.lake.feed.event import Committed, Failed
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from tests.lake.landing import TAP, overwrite, time_of
from tests.lake.running import Running

KEYS = StreamKeys(TAP, "orders")
LARGE = VacuumOptions(target_bytes=1_000_000)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake", create=True)


def land(lake: Lake, run: str, numbers: Iterable[int], stream: str = "orders") -> None:
    running = Running(lake.store, run, stream, tap=TAP)
    for number in numbers:
        running.commit([number])
    running.end()


def expect_same(storage: Storage, lake: Lake, folder: Path) -> None:
    """What was followed is what a rebuild makes, byte for byte, and what the lake has."""
    fresh = open_index(f"sqlite:///{folder}/fresh.db")
    failures: list[Failed] = []
    fresh.forget()
    rebuild_index(fresh, lake, failures.append)
    assert failures == []
    assert list(export_lines(storage)) == list(export_lines(fresh))
    assert list(check_index(storage, lake)) == []
    entries = list(scan_lake(lake, Query()))
    assert storage.page(Query(), limit=10_000) == answer(Query(), entries)
    fresh.close()


def test_every_commit_is_an_entry_and_a_vacuum_changes_only_where_it_is(
    storage: Storage, lake: Lake, tmp_path: Path
) -> None:
    land(lake, "first", range(5))
    land(lake, "second", range(5, 8))
    land(lake, "second", range(8, 10), "people")
    assert follow(storage, lake).entries == 10
    before = {run: storage.page(Query(run_id=run)) for run in ("first", "second")}
    assert {run: len(found) for run, found in before.items()} == {"first": 5, "second": 5}
    expect_same(storage, lake, tmp_path)
    vacuum(lake.store, KEYS, LARGE)
    purge(lake.store, KEYS, timedelta(0), abandoned=timedelta(0))
    assert follow(storage, lake).entries == 0
    for run, entries in before.items():
        now = storage.page(Query(run_id=run))
        assert [(one.id, one.run_id, one.start, one.hash) for one in now] == [
            (one.id, one.run_id, one.start, one.hash) for one in entries
        ]
    assert {one.path for one in storage.page(Query(stream="orders"))} == {
        file.path for file in lake.stream(TAP, "orders").snapshot().files()
    }
    assert all(one.merged for one in storage.page(Query(stream="orders")))
    assert [run.outcome for run in storage.runs()] == ["complete"] * 3
    expect_same(storage, lake, tmp_path)


def test_a_lost_manifest_and_a_rebuild_index_the_stream_anew(
    storage: Storage, lake: Lake, tmp_path: Path
) -> None:
    from singerlake.lake import rebuild

    land(lake, "first", range(4))
    failures: list[Failed] = []
    ingester = Ingester(storage, lake, on_failure=failures.append)
    assert ingester.poll().entries == 4
    lake.store.delete(KEYS.manifest)
    follow_again(ingester)
    assert [one.kind for one in failures] == ["MissingManifest"]
    assert storage.count(Query()) == 4
    rebuild(lake.store)
    follow_again(ingester)
    assert storage.count(Query()) == 4
    expect_same(storage, lake, tmp_path)


def test_an_older_manifest_that_was_put_back_is_noticed(
    storage: Storage, lake: Lake, tmp_path: Path
) -> None:
    land(lake, "first", range(2))
    saved = lake.store.read(KEYS.manifest).data
    land(lake, "second", range(2, 4))
    assert follow(storage, lake).entries == 4
    overwrite(lake.store, KEYS.manifest, saved)
    markers.settle(lake.store, TAP, {KEYS.stream: None})  # by an older program, that has none
    land(lake, "third", range(4, 9))
    ingester = Ingester(storage, lake)
    ingester.poll()
    follow_again(ingester)
    assert storage.count(Query()) == 7
    expect_same(storage, lake, tmp_path)


def follow_again(ingester: Ingester) -> None:
    ingester.hint(TAP)
    ingester.poll()
    ingester.poll()


def test_the_files_that_records_name_are_entries_too(
    storage: Storage, lake: Lake, tmp_path: Path
) -> None:
    land(lake, "first", range(3))

    def named(event: Committed, file: File) -> list[NamedFile]:
        return [
            NamedFile(checksum=f"sha256:{file.sequence:063x}{n}", size=n, start=n, end=n + 1)
            for n in range(file.sequence)
        ]

    assert Ingester(storage, lake, named_files=named).poll().entries == 3 + 1 + 2 + 3
    entries = storage.page(Query(run_id="first", end=10))
    assert sorted((one.sequence, one.ordinal) for one in entries) == [
        (1, 1), (2, 1), (2, 2), (3, 1), (3, 2), (3, 3)
    ]  # fmt: skip
    assert all(one.path == named_file_path(one.hash) for one in entries)
    assert len({one.id for one in entries}) == 6
    assert list(check_index(storage, lake, named_files=named)) == []
    assert {one.kind for one in check_index(storage, lake)} == {"extra"}


def test_the_index_of_another_lake_is_refused_and_a_rebuild_takes_it(
    storage: Storage, lake: Lake, tmp_path: Path
) -> None:
    land(lake, "first", range(2))
    follow(storage, lake)
    other = open_lake(tmp_path / "other", create=True)
    land(other, "other", range(1))
    with pytest.raises(ConfigError, match="index rebuild"):
        follow(storage, other)
    assert [one.kind for one in check_index(storage, other)] == ["other-lake"]
    rebuild_index(storage, other, pytest.fail)
    assert storage.lake_id == other.lake_id()
    assert [one.run_id for one in storage.page(Query())] == ["other"]
    assert list(check_index(storage, other)) == []


def test_what_a_check_finds(storage: Storage, lake: Lake) -> None:
    land(lake, "first", range(5))
    follow(storage, lake)
    vacuum(lake.store, KEYS, LARGE)
    assert {one.kind for one in check_index(storage, lake)} == {"different"}
    follow(storage, lake)
    land(lake, "second", range(5, 7))
    (behind,) = check_index(storage, lake)
    assert (behind.kind, behind.text) == ("behind", "2 entries are not indexed yet")


@contextmanager
def ahead(storage: Storage, lake: Lake) -> Iterator[Ingester]:
    """An ingester that has begun before another one follows the same lake into the index."""
    slow = Ingester(storage, lake)
    yield slow
    slow.poll()


def test_two_ingesters_index_each_commit_once(storage: Storage, lake: Lake, tmp_path: Path) -> None:
    land(lake, "first", range(3))
    with ahead(storage, lake):
        follow(storage, lake)
    assert storage.count(Query()) == 3
    expect_same(storage, lake, tmp_path)


def test_a_control_that_does_not_compare_bookmarks_is_seen(
    tmp_path: Path, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = open_index(f"sqlite:///{tmp_path}/index.db")
    land(lake, "first", range(3))
    slow = Ingester(storage, lake)
    follow(storage, lake)

    class Anything:
        def get(self, key: object) -> object:
            return ingesters.START

        def __setitem__(self, key: object, value: object) -> None:
            pass

    change = storage.change

    @contextmanager
    def blind(tap: str, stream: str = "") -> Iterator[Any]:
        with change(tap, stream) as one:
            one.bookmark = ingesters.START
            yield one

    monkeypatch.setattr(storage, "change", blind)
    slow._places = Anything()  # type: ignore[assignment]
    slow.poll()
    assert storage.count(Query()) > 3
    storage.close()


def drawn(chance: random.Random) -> Query:
    """A random interval over what is landed, maybe open."""
    ends = [micros(time_of(chance.randrange(140))) for _ in range(2)]
    start, end = sorted(ends)
    return Query(
        stream=chance.choice([None, "orders"]),
        start=chance.choice([None, start]),
        end=chance.choice([None, end]),
    )


def test_pages_while_an_ingester_writes(
    storage: Storage, reopen: Callable[[], Storage], lake: Lake, tmp_path: Path
) -> None:
    """Ordered, no entry twice, and none missing that was there before the first page."""
    small = "dynamodb" in storage.url
    land(lake, "first", range(8))
    follow(storage, lake)
    failed: list[BaseException] = []
    chance = random.Random(1)

    def write() -> None:
        try:
            writing = reopen()
            for number in range(3 if small else 10):
                land(lake, f"more-{number}", range(100 + 3 * number, 103 + 3 * number))
                if number % 3 == 2:
                    vacuum(lake.store, KEYS, LARGE)
                follow(writing, lake)
        except BaseException as error:
            failed.append(error)

    writer = threading.Thread(target=write)
    writer.start()
    rounds = 0
    while writer.is_alive() or not rounds:
        query = drawn(chance)
        there = {one.id for one in storage.page(query, limit=10_000)}
        seen, cursor = [], None
        while True:
            page = read_page(storage.page, query, cursor, 3)
            seen += page.entries
            cursor = page.next
            if cursor is None:
                break
        ids = [one.id for one in seen]
        assert len(set(ids)) == len(ids)
        assert there <= set(ids)
        assert seen == answer(query, seen)
        rounds += 1
    writer.join()
    assert failed == []
    entries = list(scan_lake(lake, Query()))
    for _ in range(10):
        query = drawn(chance)
        assert storage.page(query, limit=10_000) == answer(query, entries)
    expect_same(storage, lake, tmp_path)


def test_a_stream_that_cannot_be_indexed_holds_no_other_back(tmp_path: Path, lake: Lake) -> None:
    """Its bookmark is stale, and what is there now cannot be read."""
    storage = open_index(f"sqlite:///{tmp_path}/index.db")
    land(lake, "first", range(2))
    saved = lake.store.read(KEYS.manifest).data
    land(lake, "second", range(2, 4))
    follow(storage, lake)
    overwrite(lake.store, KEYS.manifest, saved)
    vacuum(lake.store, KEYS, LARGE)
    (merged,) = lake.stream(TAP, "orders").snapshot().files()
    assert merged.merge is not None
    lake.store.delete(KEYS.under(merged.merge.path))
    land(lake, "third", range(10, 13), "people")
    failures: list[Failed] = []
    ingester = Ingester(storage, lake, on_failure=failures.append)
    assert ingester.poll().entries == 3
    assert [one.stream for one in failures] == ["orders"]
    land(lake, "fourth", range(20, 22), "people")
    ingester.hint(TAP, "people")
    assert ingester.poll().entries == 2
    assert len(failures) == 1
    assert storage.count(Query(stream="orders")) == 4
    storage.close()
