"""The ends of streams and runs: where a feed stands that has given everything."""

from __future__ import annotations

import msgspec
import pytest

from singerlake.errors import CorruptDocument, MissingManifest
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.ends import Ends
from singerlake.lake.feed.follower import Follower
from singerlake.lake.vacuum import vacuum
from singerlake.store import MemoryStore, Stored, StoreWrapper
from tests.lake.feed.clockwork import OPTIONS, Clockwork, Following
from tests.lake.landing import KEYS, STREAM, TAP, land, land_each, new_store, overwrite
from tests.lake.merging import OPTIONS as MERGING
from tests.lake.running import land_run


class Counting(StoreWrapper):
    """Counts the looks at documents."""

    count = 0

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        self.count += 1
        return self.inner.read_if_changed(key, validator)


def by_number(bookmark: Bookmark) -> Bookmark:
    """Without the changes of older rows, which no end has."""
    return msgspec.structs.replace(bookmark, revision=None)


@pytest.fixture
def store() -> MemoryStore:
    store = new_store()
    land_run(store, "one", [0], [1])
    land_run(store, "two", [2], outcome="failed")
    land_each(store, [3, 4], "items")
    vacuum(store, KEYS, MERGING)
    return store


def test_they_are_where_a_feed_ends(store: MemoryStore) -> None:
    consumer = Following(store)
    consumer.poll()
    ends = Ends(Follower(store))
    read = {key: by_number(place) for key, place in consumer.kept.bookmarks.items()}
    assert Cursor(ends.streams(), ends.runs()) == Cursor(read, consumer.kept.runs)


def test_asked_again_they_cost_nothing_until_something_is_due(store: MemoryStore) -> None:
    counting, clock = Counting(store), Clockwork()
    ends = Ends(Follower(counting, OPTIONS, clock))
    before = ends.streams()
    asked = counting.count
    assert ends.streams() == before
    assert counting.count == asked
    land(store, [5])
    clock.seconds += OPTIONS.idle_seconds
    assert ends.streams()[TAP, STREAM].sequence == before[TAP, STREAM].sequence + 1
    assert counting.count > asked


def test_of_some_taps_and_streams_alone(store: MemoryStore) -> None:
    assert list(Ends(Follower(store), [TAP], ["items"]).streams()) == [(TAP, "items")]
    assert Ends(Follower(store), ["tap-none"]).streams() == {}


def test_a_stream_that_cannot_be_read_is_not_left_out(store: MemoryStore) -> None:
    overwrite(store, KEYS.manifest, b"{}")
    with pytest.raises(CorruptDocument):
        Ends(Follower(store)).streams()
    store.delete(KEYS.manifest)
    with pytest.raises(MissingManifest, match="files and no manifest"):
        Ends(Follower(store)).streams()
