"""What a watcher of commits sees: every commit rings, and a failure loses none."""

from __future__ import annotations

from typing import Any

import pytest

from singerlake.airflow.commits import following
from singerlake.airflow.commits.following import MOST_SECONDS, Following, end_of, pause_after
from singerlake.errors import Unavailable
from singerlake.lake import Bookmark, Lake, open_on
from singerlake.lake.rebuilding import rebuild
from singerlake.store import MemoryStore, Store
from singerlake.store.counting import Counting
from tests.lake.landing import KEYS, STREAM, TAP, land, land_each, new_store


def follow(store: Store, place: Bookmark | None = None) -> Following:
    return Following.open(Lake(store), TAP, STREAM, place, 1e-9)


def test_a_look_rings_once_for_all_commits_and_goes_on_from_its_bookmark() -> None:
    store = new_store()
    land_each(store, range(3))
    ring = follow(store).look()
    assert ring is not None
    assert (ring.payload["commits"], ring.payload["records"]) == (3, 3)
    assert follow(store, ring.bookmark).look() is None
    land(store, [7])
    later = follow(store, ring.bookmark).look()
    assert later is not None
    assert later.payload["commits"] == 1
    assert later.bookmark.sequence == 4


def test_what_is_skipped_rings_for_nobody() -> None:
    store = new_store()
    land_each(store, range(3))
    counting = Counting(store)
    place = end_of(Lake(counting), TAP, STREAM)
    assert counting.total <= 2  # however many commits there are
    assert follow(store, place).look() is None
    land(store, [3])
    ring = follow(store, place).look()
    assert ring is not None
    assert ring.payload["commits"] == 1


def test_more_commits_than_a_look_takes_ring_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_EVENTS", 4)
    store = new_store()
    land_each(store, range(10))
    watched, seen = follow(store), 0
    while (ring := watched.look()) is not None:
        assert ring.is_more == (ring.payload["commits"] == 4)
        seen += ring.payload["commits"]
    assert seen == 10


def test_a_store_that_goes_away_loses_no_commit() -> None:
    class Flaky(MemoryStore):
        is_away = False

        def read_if_changed(self, key: str, validator: str) -> Any:
            if self.is_away:
                raise Unavailable("away")
            return super().read_if_changed(key, validator)

    store = Flaky(new_store().url)
    land(store, [1])
    watched = follow(store)
    store.is_away = True
    with pytest.raises(Unavailable):
        watched.look()
    store.is_away = False
    ring = watched.look()
    assert ring is not None
    assert ring.payload["commits"] == 1


def test_pauses_grow_up_to_a_bound() -> None:
    pauses = [pause_after(failures, 5.0) for failures in range(1, 100)]
    assert pauses == sorted(pauses)
    assert (pauses[0], pauses[-1]) == (10.0, MOST_SECONDS)


def test_after_a_rebuild_all_rings_once_more_and_says_so() -> None:
    store = new_store()
    land_each(store, range(3))
    watched = follow(store)
    ring = watched.look()
    assert ring is not None
    assert not ring.payload["rebuilt"]
    store.delete(KEYS.manifest)
    rebuild(store)
    for one in (watched, follow(store, ring.bookmark)):
        again = one.look()
        assert again is not None
        assert (again.payload["rebuilt"], again.payload["records"]) == (True, 3)
        assert one.look() is None


def test_the_first_commit_of_a_stream_rings_whoever_dies_before_it() -> None:
    store = new_store()
    open_on(store, create=True)
    place = end_of(Lake(store), TAP, STREAM)
    land(store, [1])
    ring = follow(store, Bookmark.parse(place.to_json())).look()
    assert ring is not None
    assert ring.payload["commits"] == 1
