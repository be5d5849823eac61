"""A log that continues another: whoever read no further than both agree goes on, exactly."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import pytest

from singerlake.errors import Pinned, StaleBookmark
from singerlake.format.manifest import Manifest
from singerlake.lake import Lake, continuation, pins, run_numbers
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Event, Failed, Renumbered
from singerlake.lineage.job.landing import commit_run_id
from singerlake.store import MemoryStore, Store
from singerlake.wait.event import ALWAYS, LakeCommit
from singerlake.wait.source import lake as lake_source
from tests.lake.continuing import begin_anew
from tests.lake.feed.clockwork import Following
from tests.lake.landing import STREAM, TAP, land_each, new_store
from tests.lake.running import Running


@pytest.fixture
def store() -> MemoryStore:
    return five()


def five() -> MemoryStore:
    """A store with five commits."""
    store = new_store()
    land_each(store, [1, 2, 3, 4, 5])
    return store


def committed(events: Iterable[Event]) -> list[Committed]:
    return [event for event in events if isinstance(event, Committed)]


def commits(store: Store) -> list[Committed]:
    return committed(Lake(store).stream(TAP, STREAM).increment().events())


def numbers(events: Iterable[Event]) -> list[int]:
    return [event.last_sequence for event in committed(events)]


def following(store: Store, *read: Bookmark) -> Following:
    consumer = Following(store)
    consumer.kept = Cursor({(TAP, STREAM): read[0]} if read else {})
    consumer.start()
    return consumer


def require_exact(up_to: int) -> None:
    """Every place of a log in one that continues it up to a number, and has others behind it."""
    for place in range(1, 6):
        store = five()
        read = commits(store)[place - 1].bookmark
        begin_anew(store, up_to)
        land_each(store, [-1, -2, -3])
        stream, last = Lake(store).stream(TAP, STREAM), up_to + 3
        events = following(store, read).poll()
        if place <= up_to:
            assert {type(event) for event in events} == {Committed}
            assert numbers(events) == list(range(place + 1, last + 1))
            assert {event.bookmark.log_id for event in events} == {stream.snapshot().log_id}
            new = stream.increment(read)
            assert [file.sequence for file in new.files()] == list(range(place + 1, last + 1))
            assert new.until is not None
            assert new.until.log_id == stream.snapshot().log_id
        else:
            assert isinstance(events[0], Renumbered)
            assert numbers(events) == list(range(1, last + 1))
            with pytest.raises(StaleBookmark, match="another log"):
                stream.increment(read)


@pytest.mark.parametrize("up_to", range(6))
def test_a_place_that_both_logs_have_goes_on_and_every_other_is_refused(up_to: int) -> None:
    require_exact(up_to)


def _of_any_number(manifest: Manifest, log_id: str, sequence: int) -> bool:
    return continuation.common(manifest, log_id) != 0


def _of_no_other_log(manifest: Manifest, log_id: str, sequence: int) -> bool:
    return log_id == manifest.log_id


@pytest.mark.parametrize("known", [_of_any_number, _of_no_other_log])
def test_a_feed_that_takes_other_places_is_noticed(
    monkeypatch: pytest.MonkeyPatch, known: Callable[[Manifest, str, int], bool]
) -> None:
    monkeypatch.setattr(continuation, "is_known", known)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        require_exact(3)


def test_nobody_notices_a_log_that_agrees_on_all(store: MemoryStore) -> None:
    consumer = following(store)
    consumer.poll()
    begin_anew(store, 5)
    assert consumer.poll() == []
    consumer.start()
    assert consumer.poll() == []
    begin_anew(store, 5)
    land_each(store, [6])
    assert numbers(consumer.poll()) == [6]


def test_the_digits_of_a_place_count_in_a_log_that_continues_its_own(store: MemoryStore) -> None:
    read = commits(store)[2].bookmark
    other = Bookmark(read.log_id, read.sequence, "00000000")
    begin_anew(store, 4)
    assert {type(event) for event in following(store, read).poll()} == {Committed}
    [event] = following(store, other).poll()
    assert isinstance(event, Failed)
    assert event.kind == "StaleBookmark"


def test_a_commit_is_named_by_the_log_that_gave_its_number_out(store: MemoryStore) -> None:
    before = {one.last_sequence: commit_run_id(store.url, one) for one in commits(store)}
    begin_anew(store, 4)
    land_each(store, [-1, -2])
    begin_anew(store, 5)
    land_each(store, [-3])
    after = {one.last_sequence: commit_run_id(store.url, one) for one in commits(store)}
    assert {number for number in before if before[number] == after[number]} == {1, 2, 3, 4}
    assert len({one.log_id for one in commits(store)}) == 3
    assert len({one.bookmark.log_id for one in commits(store)}) == 1


def test_a_pin_is_read_where_both_logs_have_all_of_it(store: MemoryStore) -> None:
    lake = Lake(store)
    lake.pin("five")
    begin_anew(store, 5)
    land_each(store, [6])
    assert pins.problem(pins.read(store, "five"), lake.stream(TAP, STREAM).snapshot()) is None
    with pytest.raises(Pinned):
        pins.require_unpinned(lake.stream(TAP, STREAM).snapshot(), 5, 5)
    begin_anew(store, 4)
    land_each(store, [7])
    problem = pins.problem(pins.read(store, "five"), lake.stream(TAP, STREAM).snapshot())
    assert problem is not None
    assert "goes on from that one up to 4 only" in problem


def test_runs_keep_their_numbers() -> None:
    store = new_store()
    for run, last in (("first", 5), ("second", 6), ("third", 7)):
        running = Running(store, run, STREAM, tap=TAP)
        for number in range(last - 4 if run == "first" else last, last + 1):
            running.commit([number])
        if run != "second":  # it dies, and is found by its commit
            running.end()
        begin_anew(store, last)
    runs = Lake(store).tap(TAP).runs(open=True)
    left = [(run.streams[STREAM].first_sequence, run.streams[STREAM].last_sequence) for run in runs]
    assert sorted(left) == [(1, 5), (6, 6), (7, 7)]
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    assert sorted(run_numbers.last_number(snapshot, run) for run in runs) == [5, 6, 7]


def test_a_wait_goes_on_from_a_commit_of_the_older_log(store: MemoryStore) -> None:
    after = commits(store)[4].bookmark
    begin_anew(store, 5)
    assert following(store, after).poll() == []
    land_each(store, [6])
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    event = LakeCommit(tap=TAP, stream=STREAM, after=after)
    found = lake_source._commit(snapshot, event, ALWAYS)
    assert found is not None
    assert found.position["sequence"] == 6
