"""Every storage answers as looking at every entry does."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import islice

import msgspec
import pytest

from singerlake.errors import ConfigError
from singerlake.index.entry import Entry, EntryIds, Upload, named_file_path
from singerlake.index.newest import age
from singerlake.index.page import read_page
from singerlake.index.query import Query, answer, matches, position
from singerlake.index.storage.base import EndedRun, Holder, Lack, Storage
from singerlake.index.storage.row import upload_sequence
from singerlake.index.summary import tally
from singerlake.lake.feed.bookmark import Bookmark
from tests.index.samples import DAY, HASH, LAKE, LOG, STREAMS, entries_in, fill, put, queries

BYS = ("day", "run", "stream")


def all_pages(storage: Storage, query: Query, limit: int) -> list[Entry]:
    found: list[Entry] = []
    cursor = None
    while True:
        page = read_page(storage.page, query, cursor, limit)
        assert len(page.entries) <= limit
        found += page.entries
        cursor = page.next
        if cursor is None:
            return found


@pytest.mark.parametrize("seed", range(2))
def test_random_questions_over_all_pages(storage: Storage, seed: int, questions: int) -> None:
    entries, chance = fill(storage, seed), random.Random(seed)
    for query in islice(queries(seed), questions):
        expected = answer(query, entries)
        limit = chance.choice([3, 20, 100]) if len(expected) < 60 else 100
        assert all_pages(storage, query, limit) == expected, query
        assert storage.count(query) == len(expected), query


def test_summaries(storage: Storage, questions: int) -> None:
    entries = fill(storage, 3)
    for query in islice(queries(3), questions // 3):
        for by in BYS:
            assert storage.summary(query, by) == tally(query, entries, by), (query, by)


def test_an_entry_by_its_id(storage: Storage) -> None:
    entries = fill(storage, 4, 20)
    for entry in entries:
        assert storage.by_id(entry.id) == entry
    for absurd in ("", "0" * 32, "no such", "\0", "\ud800", "x" * 100_000, entries[0].id.upper()):
        assert storage.by_id(absurd) is None


def test_the_latest_of_a_stream(storage: Storage) -> None:
    entries = fill(storage, 5)
    for tap, stream in STREAMS:
        own = [entry for entry in entries if (entry.tap, entry.stream) == (tap, stream)]
        newest = max((entry.start, entry.create_time) for entry in own)
        found = storage.latest(tap, stream)
        assert found is not None
        assert (found.start, found.create_time) == newest
        assert storage.latest(tap, stream, since=newest[0]) == found
        assert storage.latest(tap, stream, since=newest[0] + 1) is None
    assert storage.latest("tap-a--x", "nothing") is None


def test_absurd_questions_have_answers(storage: Storage) -> None:
    entries = fill(storage, 14, 10)
    numbers = (0, -1, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 10**40, -(10**40))
    for number in numbers[-2:] if "dynamodb" in storage.url else numbers:
        for name in ("start", "end", "version", "min_size", "max_size"):
            query = Query(stream="orders", **{name: number})
            assert storage.page(query, limit=1000) == answer(query, entries), query
            assert storage.count(query) == len(answer(query, entries)), query
        found = storage.latest("tap-a--x", "orders", since=number)
        assert (found is None) == (number > 10**15)
    for name in ("tap", "stream", "run_id", "tap_pattern", "stream_pattern"):
        for text in ("", "\0", "\ud800", "[", "*" * 200, "x" * 10_000, "'; --", "%s", ":scope"):
            query = Query(start=0, end=DAY, **{name: text})
            assert storage.page(query, limit=1000) == answer(query, entries), query


def test_a_stream_in_the_order_of_its_log(storage: Storage) -> None:
    entries = fill(storage, 6)
    assert storage.streams() == sorted(STREAMS)
    for tap, stream in STREAMS:
        own = [entry for entry in entries if (entry.tap, entry.stream) == (tap, stream)]
        assert list(storage.entries(tap, stream)) == own


def test_bookmarks_come_back(storage: Storage) -> None:
    fill(storage, 7, 5)
    place = Bookmark("runs", 3, "digits")
    with storage.change("tap-a--x") as change:
        assert change.bookmark is None
        change.keep(place)
    with storage.change("tap-a--x", "orders") as change:
        assert change.bookmark == Bookmark(LOG, 5)
        change.keep(Bookmark(LOG, 5, "abc", 9))
    cursor = storage.cursor()
    assert cursor.runs == {"tap-a--x": place}
    assert cursor.bookmarks["tap-a--x", "orders"] == Bookmark(LOG, 5, "abc", 9)
    assert set(cursor.bookmarks) == set(STREAMS)


def test_a_vacuum_changes_the_holder_only(storage: Storage) -> None:
    entries = fill(storage, 8, 30)
    own = [entry for entry in entries if (entry.tap, entry.stream) == STREAMS[0]]
    before = {entry.id: storage.by_id(entry.id) for entry in own}
    steps: list[tuple[int, int, list[Holder]]] = [
        (3, 12, [Holder(3, 12, "x/first", True)]),
        (6, 7, [Holder(6, 7, "x/within", True)]),
        (12, 20, [Holder(12, 15, "x/second", True), Holder(16, 20, "x/third", False)]),
        (1, 4, [Holder(1, 4, "x/begin", True)]),
    ]
    held: dict[int, tuple[str, bool]] = {}
    for first, last, holders in steps:
        with storage.change(*STREAMS[0]) as change:
            change.hold(first, last, holders)
            change.keep(Bookmark(LOG, 30, "", first))
        for one in holders:
            for number in range(one.first_sequence, one.last_sequence + 1):
                held[number] = (one.path, one.merged)
    for entry in own:
        path, merged = held.get(entry.sequence, (entry.path, entry.merged))
        now = storage.by_id(entry.id)
        assert now == msgspec.structs.replace(before[entry.id], path=path, merged=merged)


def test_lost_numbers_are_gaps_and_no_entries(storage: Storage) -> None:
    entries = fill(storage, 9, 20)
    tap, stream = STREAMS[0]
    with storage.change(tap, stream) as change:
        change.lose(Lack(tap, stream, 4, 9, "first", 1))
        change.lose(Lack(tap, stream, 6, 7, "second", None))
        change.lose(Lack(tap, stream, 21, 22, "beyond", 2))
        change.keep(Bookmark(LOG, 22))
    assert storage.lacks(tap, stream) == [
        Lack(tap, stream, 4, 5, "first", 1),
        Lack(tap, stream, 6, 7, "second", None),
        Lack(tap, stream, 8, 9, "first", 1),
        Lack(tap, stream, 21, 22, "beyond", 2),
    ]
    left = [
        entry
        for entry in entries
        if (entry.tap, entry.stream) != (tap, stream) or not 4 <= entry.sequence <= 9
    ]
    assert storage.page(Query(), limit=1000) == answer(Query(), left)
    assert storage.lacks(*STREAMS[1]) == []


def test_a_stream_that_is_cleared_begins_anew(storage: Storage) -> None:
    entries = fill(storage, 10, 20)
    tap, stream = STREAMS[0]
    fresh = entries_in(tap, stream, 7, random.Random(1), log="other")
    with storage.change(tap, stream) as change:
        change.lose(Lack(tap, stream, 1, 1, "lost", 1))
        change.keep(Bookmark(LOG, 20))
    with storage.change(tap, stream) as change:
        change.clear()
        change.add(fresh)
        change.keep(Bookmark("other", 7))
    rest = [entry for entry in entries if (entry.tap, entry.stream) != (tap, stream)]
    assert storage.page(Query(), limit=1000) == answer(Query(), [*rest, *fresh])
    assert storage.lacks(tap, stream) == []
    assert storage.by_id(entries[0].id) is None


def test_the_ends_of_runs(storage: Storage) -> None:
    fill(storage, 11, 10)
    first = EndedRun("tap-a--x", "run-1", "writer", "complete", 1, 2, ("orders", "\ud800"))
    other = EndedRun("tap-a--x", "run-0", "writer", "failed", 3, 4, ())
    with storage.change("tap-a--x") as change:
        change.end_run(first)
        change.end_run(other)
        change.keep(Bookmark("runs", 2))
    assert list(storage.runs()) == [other, first]
    mended = msgspec.structs.replace(other, outcome="complete")
    with storage.change("tap-a--x") as change:
        change.end_run(mended)
        change.keep(Bookmark("runs", 3))
    assert list(storage.runs()) == [mended, first]
    with storage.change("tap-a--x") as change:
        change.clear()
        change.keep(Bookmark("", 0))
    assert list(storage.runs()) == []


def upload(id: str, start: int, what: str = "orders") -> Entry:
    return Entry(
        id=id,
        tap="tap-a--x",
        stream=what,
        log_id="",
        sequence=upload_sequence(id),
        run_id="run-3",
        start=start,
        end=start,
        hash="abc",
        size=5,
        create_time=1,
        path=f"s3://b/{id}/data",
        upload=Upload(url=f"s3://b/{id}/data", metadata={"version": 0, "end": None}),
    )


def test_uploads_are_among_the_entries_and_outlive_the_lake(storage: Storage) -> None:
    entries = fill(storage, 12, 30)
    sent = [upload("u-1", 5), upload("u-2", 6), upload("u-1", 7), upload("u-\0", 7, "photos")]
    for one in sent:
        storage.put_uploads([one])
    kept = sent[1:]
    for query in islice(queries(12), 40):
        assert storage.page(query, limit=1000) == answer(query, [*entries, *kept]), query
    assert [storage.by_id(one.id) for one in kept] == kept
    assert list(storage.uploads()) == sorted(kept, key=lambda one: one.id)
    assert storage.streams() == sorted(STREAMS)
    assert list(storage.entries("tap-a--x", "orders")) == entries[:30]
    with storage.change("tap-a--x", "orders") as change:
        change.clear()
        change.keep(Bookmark("", 0))
    storage.drop("tap-a--x", "people")
    assert storage.streams() == sorted(set(STREAMS) - {("tap-a--x", "people")})
    storage.forget()
    assert storage.lake_id is None
    assert storage.page(Query(), limit=1000) == answer(Query(), kept)


def test_an_index_is_of_one_lake(storage: Storage) -> None:
    assert storage.lake_id is None
    storage.bind(LAKE)
    storage.bind(LAKE)
    assert storage.lake_id == LAKE
    with pytest.raises(ConfigError, match="is of the lake lake, and this lake is other"):
        storage.bind("other")


def test_a_reopened_index_has_it_all(reopen: Callable[[], Storage], storage: Storage) -> None:
    entries = fill(storage, 13, 5)
    again = reopen()
    assert again.page(Query(), limit=1000) == answer(Query(), entries)
    assert again.cursor() == storage.cursor()
    assert again.lake_id == LAKE


def naming(storage: Storage, count: int, *starts: int) -> list[Entry]:
    """Photos: as many Singer files, the last of which names a file for each start."""
    storage.bind(LAKE)
    entries = entries_in("tap-a--x", "photos", count, random.Random(2))
    last = entries[-1]
    ids = EntryIds(LAKE, last.tap, last.stream, LOG)
    for ordinal, start in enumerate(starts, start=1):
        one = msgspec.structs.replace(
            last,
            id=ids.id(last.sequence, ordinal),
            ordinal=ordinal,
            start=start,
            end=start,
            hash=f"sha256:{ordinal:064x}",
            records=None,
            path=named_file_path(f"sha256:{ordinal:064x}"),
            merged=False,
        )
        entries.append(one)
    put(storage, entries)
    return entries


def test_entries_of_one_commit_and_the_files_that_they_name(storage: Storage) -> None:
    own, *named = naming(storage, 1, 5, 6, 7)
    tap, stream = own.tap, own.stream
    assert list(storage.entries(tap, stream)) == [own, *named]
    with storage.change(tap, stream) as change:
        change.hold(1, 1, [Holder(1, 1, f"{HASH}/merged", True)])
        change.keep(Bookmark(LOG, 1))
    assert [storage.by_id(one.id) for one in named] == named


def test_the_latest_of_a_stream_that_names_files_is_one_of_them(storage: Storage) -> None:
    """A photo of the day before is put: its record, and so its Singer file, begins later."""
    assert not storage.names_files("tap-a--x", "photos")
    *own, first, twin, last = naming(storage, 3, -9 * DAY, -8 * DAY, -8 * DAY)
    tap, stream = first.tap, first.stream
    assert storage.names_files(tap, stream)
    assert storage.latest(tap, stream) == last
    assert storage.latest(tap, stream, since=twin.start) == last
    assert storage.latest(tap, stream, since=twin.start + 1) is None

    # A commit that names nothing, such as a tombstone, changes nothing.
    (tombstone,) = entries_in(tap, stream, 1, random.Random(3), first=4)
    put(storage, [msgspec.structs.replace(tombstone, start=99 * DAY, end=99 * DAY)])
    assert storage.latest(tap, stream) == last
    later = upload("u-1", last.start + 1, stream)
    storage.put_uploads([later])
    assert storage.latest(tap, stream) == later

    # Where all that named files is lost, Singer files are what there is.
    with storage.change(tap, stream) as change:
        change.lose(Lack(tap, stream, 3, 4, "lost", 1))
        change.keep(Bookmark(LOG, 4))
    assert not storage.names_files(tap, stream)
    assert storage.latest(tap, stream) == max([*own[:2], later], key=age)


def test_the_meaning_of_a_query_is_inclusive_at_both_ends() -> None:
    (entry,) = entries_in("t", "s", 1, random.Random(3))
    for start, end, expected in (
        (entry.end, None, True),
        (entry.end + 1, None, False),
        (None, entry.start, True),
        (None, entry.start - 1, False),
        (entry.start, entry.end, True),
    ):
        assert matches(Query(start=start, end=end), entry) is expected
    assert position(entry)[:2] == (entry.start, entry.end)
