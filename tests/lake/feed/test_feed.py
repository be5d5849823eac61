"""What a feed reports: each commit once, and what became of older ones."""

from __future__ import annotations

import threading
from datetime import timedelta

import msgspec
import pytest

from singerlake import Lake, rebuild
from singerlake.errors import (
    ConfigError,
    PermissionDenied,
    SingerlakeError,
    Unavailable,
    UnsupportedFormat,
)
from singerlake.format import manifest as manifests
from singerlake.format.keys import RunKeys
from singerlake.lake import clock, commit, log
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import (
    Committed,
    Event,
    Failed,
    Lost,
    Renumbered,
    Replaced,
    RunEnded,
)
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import FeedOptions
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import MemoryStore, Store, Stored
from singerlake.store.counting import Counting
from singerlake.store.wrapper import StoreWrapper
from tests.lake.feed.clockwork import OPTIONS, Clockwork, Following
from tests.lake.landing import (
    KEYS,
    PATIENT,
    STREAM,
    TAP,
    files_in,
    land,
    land_each,
    new_store,
    overwrite,
)
from tests.lake.running import Running


def numbers(events: list[Event]) -> list[tuple[int, int]]:
    return [(e.first_sequence, e.last_sequence) for e in events if isinstance(e, Committed)]


def only(events: list[Event], kind: type[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, kind)]


def merge_all(store: Store) -> None:
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))


@pytest.fixture
def store() -> MemoryStore:
    return new_store()


def test_each_commit_is_one_event_and_comes_once(store: MemoryStore) -> None:
    land(store, [1, 2])
    land(store, [3])
    consumer = Following(store)
    first, second = only(consumer.poll(), Committed)
    assert isinstance(first, Committed)
    assert isinstance(second, Committed)
    assert (first.tap, first.stream) == (TAP, STREAM)
    assert (first.first_sequence, first.last_sequence, first.records) == (1, 1, 2)
    assert first.bytes == files_in(store)[0].bytes
    assert first.files == (files_in(store)[0],)
    assert first.run_id == files_in(store)[0].run_id
    assert second.bookmark.sequence == 2
    assert consumer.poll() == []
    consumer.start()
    assert consumer.poll() == []
    land(store, [4])
    assert numbers(consumer.poll()) == [(3, 3)]


def test_an_event_that_was_not_taken_comes_again(store: MemoryStore) -> None:
    land_each(store, [1, 2, 3])
    feed = Following(store).feed
    first = next(iter(feed.poll()))
    assert feed.cursor.bookmarks[TAP, STREAM] == first.bookmark
    assert numbers(list(feed.poll())) == [(2, 2), (3, 3)]


def test_a_commit_of_several_files_is_one_event_of_at_most_a_thousand(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    land(store, [1])
    commit_together(store, 5)
    assert numbers(Following(store).poll()) == [(1, 1), (2, 6)]
    monkeypatch.setattr("singerlake.lake.feed.history.MOST_FILES", 2)
    events = [event for event in Following(store).poll() if isinstance(event, Committed)]
    assert numbers(list(events)) == [(1, 1), (2, 3), (4, 5), (6, 6)]
    assert [event.continues for event in events] == [False, True, True, False]


def commit_together(store: Store, count: int) -> None:
    """One commit of several files, as a job of many machines makes it."""
    head = log.read_head(store, KEYS)
    row = head.manifest.files[0]
    rows = [
        msgspec.structs.replace(row, path=f"{row.path}-{number}", run_id="job", writer_id="job")
        for number in range(count)
    ]
    changed = manifests.append(head.manifest, rows, commit.new_commit("job"), {})
    store.replace(KEYS.manifest, manifests.encode(changed), head.version)


def test_after_a_vacuum_each_commit_is_still_one_event(store: MemoryStore) -> None:
    land_each(store, range(1, 6))
    before = only(Following(store).poll(), Committed)
    merge_all(store)
    merged = files_in(store)
    assert len(merged) == 1
    after = only(Following(store).poll(), Committed)
    assert [event.run_id for event in after] == [event.run_id for event in before]
    assert [event.records for event in after] == [event.records for event in before]
    assert [event.bookmark.check for event in after] == [e.bookmark.check for e in before]
    assert {file.path for event in after for file in event.files} == {merged[0].path}


def test_a_vacuum_is_reported_once_also_after_a_restart(store: MemoryStore) -> None:
    land_each(store, range(1, 6))
    consumer = Following(store)
    consumer.poll()
    merge_all(store)
    consumer.start()
    [event] = consumer.poll()
    assert isinstance(event, Replaced)
    assert (event.first_sequence, event.last_sequence, event.reason) == (1, 5, "vacuum")
    assert event.files == tuple(files_in(store))
    consumer.start()
    assert consumer.poll() == []
    purge(store, KEYS, timedelta(0))
    assert consumer.poll() == []


def test_what_was_not_read_yet_is_not_replaced(store: MemoryStore) -> None:
    land_each(store, [1, 2])
    consumer = Following(store)
    consumer.poll()
    land_each(store, [3, 4])
    merge_all(store)
    replaced, *rest = consumer.poll()
    assert isinstance(replaced, Replaced)
    assert (replaced.first_sequence, replaced.last_sequence) == (1, 2)
    assert numbers(rest) == [(3, 3), (4, 4)]


def test_changes_that_nobody_knows_any_more_are_all_that_was_read(store: MemoryStore) -> None:
    land_each(store, [1, 2])
    consumer = Following(store)
    consumer.poll()
    merge_all(store)
    consumer.poll()
    forget_revisions(store)
    [event] = consumer.poll()
    assert isinstance(event, Replaced)
    assert (event.first_sequence, event.last_sequence, event.reason) == (1, 2, "unknown")
    assert consumer.poll() == []
    land(store, [3])  # by a newer writer, which changes nothing of what the feed has seen
    assert numbers(consumer.poll()) == [(3, 3)]
    merge_all(store)
    forget_revisions(store)
    land(store, [4])
    replaced, committed = consumer.poll()
    assert isinstance(replaced, Replaced)
    assert (replaced.last_sequence, replaced.reason) == (3, "unknown")
    assert numbers([committed]) == [(4, 4)]
    assert consumer.poll() == []


def test_more_changes_than_a_manifest_keeps(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "KEPT", 1)
    land_each(store, [1, 2])
    consumer = Following(store)
    consumer.poll()
    merge_all(store)
    land_each(store, [3, 4])
    merge_all(store)
    replaced, *rest = consumer.poll()
    assert isinstance(replaced, Replaced)
    assert (replaced.last_sequence, replaced.reason) == (2, "unknown")
    assert numbers(rest) == [(3, 3), (4, 4)]


def forget_revisions(store: Store) -> None:
    """As an older Singerlake does, which does not know the fields."""
    stored = store.read(KEYS.manifest)
    manifest = manifests.decode(stored.data, "here")
    changed = msgspec.structs.replace(
        manifest,
        revision=None,
        revisions=(),
        commit=msgspec.structs.replace(manifest.commit, id="older", time=clock.now()),
    )
    store.replace(KEYS.manifest, manifests.encode(changed), stored.version)


def test_a_lost_file_is_reported_to_those_who_read_it_and_to_those_who_did_not(
    store: MemoryStore,
) -> None:
    land_each(store, [1, 2, 3])
    consumer = Following(store)
    consumer.poll()
    store.delete(KEYS.under(files_in(store)[1].path))
    rebuild(store)
    [event] = consumer.poll()
    assert isinstance(event, Lost)
    assert (event.first_sequence, event.last_sequence) == (2, 2)
    fresh = Following(store).poll()
    assert [type(one) for one in fresh if one.stream] == [Committed, Lost, Committed]


def test_a_rebuilt_log_is_renumbered_and_read_anew(store: MemoryStore) -> None:
    land_each(store, [1, 2])
    consumer = Following(store)
    old = consumer.poll()[0].bookmark.log_id
    store.delete(KEYS.manifest)
    [failed] = consumer.poll()
    assert isinstance(failed, Failed)
    assert failed.kind == "MissingManifest"
    rebuild(store)
    renumbered, *rest = consumer.poll()
    assert isinstance(renumbered, Renumbered)
    assert renumbered.old_log_id == old
    assert numbers(rest)[-1][1] == 2


def test_an_older_manifest_that_grew_past_the_bookmark_is_noticed(store: MemoryStore) -> None:
    land_each(store, [1, 2])
    older = store.read(KEYS.manifest).data
    land_each(store, [3])
    consumer = Following(store)
    consumer.poll()
    overwrite(store, KEYS.manifest, older)
    land_each(store, [4, 5])
    [event] = only(consumer.poll(), Failed)
    assert isinstance(event, Failed)
    assert event.kind == "StaleBookmark"
    assert event.bookmark.sequence == 3
    assert consumer.poll() == []  # reported once


def test_a_damaged_stream_does_not_stop_the_others(store: MemoryStore) -> None:
    land(store, [1], stream="orders")
    land(store, [2], stream="people")
    overwrite(store, KEYS.manifest, b"{")
    consumer = Following(store)
    events = consumer.poll()
    assert [(e.stream, e.kind) for e in events if isinstance(e, Failed)] == [
        ("orders", "CorruptDocument")
    ]
    assert [e.stream for e in only(events, Committed)] == ["people"]


def test_the_end_of_a_run_comes_after_its_commits_and_once(store: MemoryStore) -> None:
    run, other = Running(store, "r-1"), Running(store, "r-2", stream="people")
    run.commit([1])
    other.commit([2])
    consumer = Following(store)
    assert only(consumer.poll(), RunEnded) == []
    run.commit([3])
    run.end()
    committed, ended = consumer.poll()
    assert numbers([committed]) == [(2, 2)]
    assert isinstance(ended, RunEnded)
    assert (ended.run_id, ended.outcome, set(ended.streams)) == ("r-1", "complete", {STREAM})
    consumer.start()
    other.end("failed")
    [ended] = consumer.poll()
    assert isinstance(ended, RunEnded)
    assert ended.outcome == "failed"
    assert consumer.poll() == []


def test_a_run_that_landed_while_its_stream_was_not_due_still_ends_last(
    store: MemoryStore,
) -> None:
    land(store, [1])
    consumer = Following(store)
    consumer.poll()
    consumer.poll(seconds=1000)
    run = Running(store, "r-1")
    run.commit([2])
    run.end()
    consumer.feed._follower.hint([RunKeys(TAP).log])
    assert [type(event) for event in consumer.poll(seconds=0)] == [Committed, RunEnded]


@pytest.mark.parametrize("error", [Unavailable, PermissionDenied, UnsupportedFormat])
def test_a_run_waits_for_a_stream_that_cannot_be_read_now_and_not_for_a_damaged_one(
    error: type[SingerlakeError],
) -> None:
    inner = new_store()
    store = Unreadable(inner)
    store.error = error
    run = Running(inner, "r-1")
    run.commit([1])
    run.end()
    store.down = KEYS.manifest
    consumer = Following(store)
    assert [type(event) for event in consumer.poll()] == [Failed]
    assert consumer.poll() == []
    store.down = ""
    assert [type(event) for event in consumer.poll()] == [Committed, RunEnded]
    overwrite(inner, KEYS.manifest, b"{")
    damaged = [event for event in Following(inner).poll() if not isinstance(event, Committed)]
    assert [type(event) for event in damaged] == [Failed, RunEnded]


class Unreadable(StoreWrapper):
    """A store that gives no answer about one key."""

    down = ""
    error: type[SingerlakeError] = Unavailable

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        if key == self.down:
            raise self.error(f"{key}: no answer")
        return self.inner.read_if_changed(key, validator)


def test_a_run_log_that_was_rebuilt_is_renumbered(store: MemoryStore) -> None:
    run = Running(store, "r-1")
    run.commit([1])
    run.end()
    consumer = Following(store)
    consumer.poll()
    store.delete(RunKeys(TAP).log)
    [failed] = consumer.poll()
    assert (type(failed), failed.stream) == (Failed, "")
    rebuild(store)
    renumbered, ended = consumer.poll()
    assert (type(renumbered), renumbered.stream) == (Renumbered, "")
    assert isinstance(ended, RunEnded)


def test_a_filter_gives_only_its_streams_and_their_runs(store: MemoryStore) -> None:
    for name in ("orders", "people"):
        run = Running(store, f"r-{name}", stream=name)
        run.commit([1])
        run.end()
    feed = Feed(Follower(store, OPTIONS, Clockwork()), Cursor(), streams=["people"])
    committed, ended = feed.poll()
    assert committed.stream == "people"
    assert isinstance(ended, RunEnded)
    assert ended.run_id == "r-people"


def test_names_can_be_followed_before_they_exist(store: MemoryStore) -> None:
    Lake(store)
    feed = Feed(Follower(store, OPTIONS, Clockwork()), Cursor(), [TAP], [STREAM])
    assert list(feed.poll()) == []
    land(store, [1])
    feed.hint(TAP, STREAM)
    assert numbers(list(feed.poll())) == [(1, 1)]


def test_a_stream_that_does_not_change_costs_one_request_without_a_body() -> None:
    store = Counting(new_store())
    land(store, [1])
    consumer = Following(store)
    consumer.poll()
    store.reset()
    consumer.poll()
    asked = store.counts
    # The lake document, the catalogue, the run log, the manifest.
    assert asked == {"read_if_changed": 4}


def test_a_hint_does_not_wait_for_the_end_of_a_poll(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("singerlake.lake.feed.feed.BATCH", 1)
    for stream in ("a", "b", "c"):
        land(store, [1], stream)
    poll = (feed := Following(store).feed).poll()
    assert [next(poll).stream, next(poll).stream] == ["a", "b"]
    land(store, [2], "a")
    feed.hint(TAP, "a")
    assert [event.stream for event in poll] == ["a", "c"]


def test_idle_streams_are_asked_less_often_and_a_hint_at_once() -> None:
    store = Counting(new_store())
    land(store, [1])
    consumer = Following(store)
    consumer.poll()
    consumer.poll(seconds=1000)
    store.reset()
    consumer.poll(seconds=30)
    assert store.counts == {}
    land(store, [2])
    store.reset()
    consumer.feed.hint(TAP, STREAM)
    assert numbers(consumer.poll(seconds=0)) == [(2, 2)]
    assert store.counts == {"read_if_changed": 1}


def test_feeds_with_one_follower_ask_once() -> None:
    store = Counting(new_store())
    land(store, [1])
    follower = Follower(store, OPTIONS, Clockwork())
    feeds = [Feed(follower, Cursor()) for _ in range(50)]
    for feed in feeds:
        assert numbers(list(feed.poll())) == [(1, 1)]
    assert store.counts["read_if_changed"] == 4


def test_close_ends_the_iteration(store: MemoryStore) -> None:
    land(store, [1])
    feed = Lake(store).feed(options=FeedOptions(poll_seconds=0.01, idle_seconds=0.01))
    seen: list[Event] = []

    def follow() -> None:
        seen.extend(feed)

    thread = threading.Thread(target=follow)
    thread.start()
    while not seen:
        pass
    feed.close()
    thread.join(10)
    assert not thread.is_alive()


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_options_that_cannot_be(seconds: float) -> None:
    with pytest.raises(ConfigError, match="poll_seconds"):
        FeedOptions(poll_seconds=seconds)


def test_a_cursor_is_the_same_after_its_json() -> None:
    cursor = Cursor(
        {("t", "s"): Bookmark("a", 7, "12345678", 3), ("t", "ö/\n"): START},
        {"t": Bookmark("b", 2)},
    )
    assert Cursor.decode(cursor.encode()) == cursor
    assert b'"check"' in cursor.encode()
