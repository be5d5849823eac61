"""What a feed reports as failed: once, without moving a bookmark, and without stopping the rest."""

from __future__ import annotations

import itertools

import pytest

from singerlake.errors import BadName, ConfigError, Unavailable
from singerlake.format import catalogue, lake_document
from singerlake.format import keys as key_names
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.run import RunStream
from singerlake.lake import open_on
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Event, Failed, RunEnded
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.follower import Follower
from singerlake.store import MemoryStore, Stored
from singerlake.store.wrapper import StoreWrapper
from tests.lake.feed.clockwork import OPTIONS, Clockwork, Following
from tests.lake.landing import STREAM, TAP, land, land_each, new_store, options, overwrite
from tests.lake.landing import schema_line as schema
from tests.lake.running import Running

LONG = 300 * "x"
"""A name that no path can hold."""


class Outage(StoreWrapper):
    """A store that gives no answer about some keys, and says each time how long that took."""

    down = ""
    _seconds = itertools.count()

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        if self.down and self.down in key:
            raise Unavailable(f"{key}: gave up after {next(self._seconds)} s")
        return self.inner.read_if_changed(key, validator)


@pytest.fixture
def store() -> MemoryStore:
    return new_store()


def kinds(events: list[Event]) -> list[str]:
    return [event.kind if isinstance(event, Failed) else type(event).__name__ for event in events]


def land_run(store: MemoryStore, name: str, stream: str = STREAM, **others: RunStream) -> None:
    run = Running(store, name, stream)
    run.commit([1])
    run.end(**others)


def restart(consumer: Following, events: list[Event]) -> None:
    """Start again from the bookmarks of the events, as a table has them."""
    streams = {(event.tap, event.stream): event.bookmark for event in events if event.stream}
    runs = {event.tap: event.bookmark for event in events if not event.stream}
    consumer.kept = Cursor(streams, runs)
    consumer.start()


def test_a_damaged_stream_is_reported_once_whatever_its_name(store: MemoryStore) -> None:
    land(store, [1], stream="*")
    consumer = Following(store)
    consumer.poll()
    overwrite(store, StreamKeys(TAP, "*").manifest, b"{")
    assert kinds(consumer.poll()) == ["CorruptDocument"]
    assert consumer.poll() == []


def test_an_outage_is_reported_once_and_the_feed_goes_on_by_itself(store: MemoryStore) -> None:
    land(store, [1])
    outage = Outage(store)
    consumer = Following(outage)
    consumer.poll()
    outage.down = "manifest"
    assert kinds(consumer.poll()) == ["Unavailable"]
    assert consumer.poll() == []
    land(store, [2])
    outage.down = ""
    assert kinds(consumer.poll()) == ["Committed"]
    outage.down = "manifest"
    assert kinds(consumer.poll()) == ["Unavailable"]


def test_a_damaged_catalogue_does_not_move_the_bookmark_of_the_runs(store: MemoryStore) -> None:
    land_run(store, "r-1")
    consumer = Following(store)
    seen = consumer.poll()
    overwrite(store, key_names.catalogue(TAP), b"{")
    [failed] = consumer.poll()
    assert isinstance(failed, Failed)
    assert failed.bookmark == seen[-1].bookmark
    restart(consumer, [*seen, failed])
    assert kinds(consumer.poll()) == ["CorruptDocument"]


def test_a_bookmark_that_came_with_a_failure_is_not_taken_for_something_read(
    store: MemoryStore,
) -> None:
    with open_on(store, create=True).writer(TAP, options=options()) as writer:
        writer.write(schema())  # registers the stream, and commits nothing
        writer.commit()
    outage = Outage(store)
    outage.down = "json"
    consumer = Following(outage)
    consumer.feed = Feed(consumer.feed._follower, Cursor(), [TAP], [STREAM])
    seen = consumer.poll()
    assert kinds(seen) == ["Unavailable", "Unavailable"]
    assert {event.bookmark for event in seen} == {START}
    outage.down = ""
    restart(consumer, seen)
    assert consumer.poll() == []


def test_a_tap_is_followed_by_its_runs_where_no_document_names_it(store: MemoryStore) -> None:
    land_run(store, "r-1")
    consumer = Following(store)
    consumer.poll()
    consumer.kept = Cursor({}, consumer.kept.runs)  # its streams are read from the beginning
    land_run(store, "r-2")
    overwrite(store, key_names.LAKE_DOCUMENT, b"{")
    consumer.start()
    assert kinds(consumer.poll())[-1:] == ["RunEnded"]


def test_a_run_that_made_a_stream_ends_after_its_commits(store: MemoryStore) -> None:
    land(store, [1])
    outage = Outage(store)
    consumer = Following(outage)
    consumer.poll()
    consumer.poll(seconds=1000)
    land_run(store, "r-1", "people")
    # Neither the catalogue is due, nor can it be read when it is.
    consumer.feed._follower.hint([RunKeys(TAP).log])
    assert kinds(consumer.poll(seconds=0)) == ["Committed", "RunEnded"]
    land_run(store, "r-2", "places")
    outage.down = "catalogue"
    assert kinds(consumer.poll()) == ["Unavailable", "Committed", "RunEnded"]


def test_a_run_that_names_streams_which_cannot_be_there_ends_all_the_same(
    store: MemoryStore,
) -> None:
    nothing = RunStream(log_id="nowhere", first_sequence=1, last_sequence=7)
    land_run(store, "r-1", **{"nowhere": nothing, "": nothing, LONG: nothing})
    consumer = Following(store)
    *_, ended = consumer.poll()
    assert isinstance(ended, RunEnded)
    assert set(ended.streams) == {STREAM, "nowhere", "", LONG}
    assert consumer.poll() == []


def test_names_that_no_path_can_hold_are_passed_over(store: MemoryStore) -> None:
    land(store, [1])
    key = key_names.catalogue(TAP)
    entries = catalogue.decode(store.read(key).data, key)
    more = [{**entries[STREAM], "tap_stream_id": name} for name in ("", LONG)]
    overwrite(store, key, catalogue.encode(TAP, [*entries.values(), *more]))
    body = lake_document.decode(store.read(key_names.LAKE_DOCUMENT).data, "")
    changed = lake_document.encode(lake_document.with_taps(body, ["", LONG]))
    overwrite(store, key_names.LAKE_DOCUMENT, changed)
    place = Bookmark("log", 7)
    cursor = Cursor({("", STREAM): place, (TAP, LONG): place}, {"": place, LONG: place})
    feed = Feed(Follower(store, OPTIONS, Clockwork()), cursor)
    assert kinds(list(feed.poll())) == ["Committed"]
    assert feed.cursor.bookmarks[TAP, LONG] == place  # kept: it is not ours


@pytest.mark.parametrize("wanted", [{"taps": [""]}, {"taps": [TAP], "streams": [LONG]}])
def test_wanted_names_that_no_path_can_hold_are_refused(
    store: MemoryStore, wanted: dict[str, list[str]]
) -> None:
    with pytest.raises(BadName):
        Feed(Follower(store, OPTIONS, Clockwork()), Cursor(), **wanted)


@pytest.mark.parametrize("wanted", [{"taps": TAP}, {"taps": [TAP], "streams": STREAM}])
def test_one_name_in_the_place_of_names_is_refused(
    store: MemoryStore, wanted: dict[str, str]
) -> None:
    land(store, [1])
    with pytest.raises(ConfigError, match="expected a list of names"):
        open_on(store).feed(**wanted)


def test_hints_of_unknown_taps_are_not_kept(store: MemoryStore) -> None:
    land(store, [1])
    consumer = Following(store)
    for number in range(100):
        consumer.feed.hint(f"tap-{number}")
        consumer.feed.hint(f"tap-{number}", STREAM)
    consumer.poll()
    assert consumer.feed._follower._hinted == set()


def test_bookmarks_of_streams_that_never_were_are_reported(store: MemoryStore) -> None:
    land(store, [1])
    consumer = Following(store)
    consumer.kept = Cursor({("tap", "stream"): Bookmark("log", 7)}, {"tap": Bookmark("log", 3)})
    consumer.start()
    seen = consumer.poll()
    assert sorted(kinds(seen)) == ["Committed", "MissingManifest", "NotFound"]
    assert consumer.poll() == []


def test_close_ends_the_iteration_with_the_event_that_is_under_way(store: MemoryStore) -> None:
    land_each(store, [1, 2, 3])
    feed = Following(store).feed
    seen = []
    for event in feed:
        seen.append(event)
        feed.close()
    assert len(seen) == 1
    assert feed.cursor.bookmarks[TAP, STREAM] == seen[0].bookmark
