"""Logs that are shorter than something proves: named by a check, mended by a new log."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from singerlake.format.consumer_keys import consumer
from singerlake.lake import Lake, check, log, manifest_copy, rebuild
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Committed, Event, Failed, Renumbered
from singerlake.lake.restoring import restore
from singerlake.lake.vacuum import vacuum
from singerlake.store import MemoryStore, Store
from tests.lake.feed.clockwork import Following
from tests.lake.landing import (
    KEYS,
    QUICK,
    assert_clean,
    codes,
    land_each,
    new_store,
    numbers_in,
    overwrite,
    put_orphan,
)
from tests.lake.merging import OPTIONS

ERROR = "log-shorter"


@pytest.fixture
def store(small_segments: None) -> MemoryStore:
    return new_store()


def mended(store: Store, how: str) -> None:
    if how == "rebuild":
        rebuild(store)
    else:
        check(store, fix=True, times=QUICK)


def numbers(events: list[Event]) -> list[int]:
    found = [event for event in events if isinstance(event, Committed)]
    return [n for event in found for n in range(event.first_sequence, event.last_sequence + 1)]


def at_end(store: Store) -> Following:
    consumer = Following(store)
    consumer.poll()
    return consumer


def without_copy(store: Store) -> None:
    store.delete(KEYS.manifest_copy)


def pinned(store: Store) -> None:
    Lake(store).pin("end")


def consumed(store: Store) -> None:
    consumer_at = at_end(store).kept
    store.create(consumer("processor"), Cursor(consumer_at.bookmarks).encode())


MENDS = pytest.mark.parametrize("mend", ["rebuild", "fix"])


@MENDS
def test_an_older_manifest_whose_copy_goes_on(store: MemoryStore, mend: str) -> None:
    """All that the copy has is as it was; nothing behind it is lost, and readers of that notice."""
    land_each(store, range(1, 6))
    older, early = store.read(KEYS.manifest).data, at_end(store)
    land_each(store, range(6, 10))
    middle = at_end(store)
    land_each(store, [10])
    late = at_end(store)
    overwrite(store, KEYS.manifest, older)
    report = check(store, times=QUICK)
    [finding] = [one for one in report.findings if one.code == ERROR]
    assert "has the log up to 9, and the manifest ends at 5" in finding.message
    mended(store, mend)
    assert_clean(store)
    assert numbers_in(store) == list(range(1, 11))
    assert numbers(early.poll()) == [6, 7, 8, 9, 10]
    assert numbers(middle.poll()) == [10]
    assert isinstance(late.poll()[0], Renumbered)


@MENDS
def test_an_older_manifest_that_has_gone_on_with_others(store: MemoryStore, mend: str) -> None:
    """Of numbers that were given twice, nobody's bookmark counts."""
    land_each(store, range(1, 6))
    older, early = store.read(KEYS.manifest).data, at_end(store)
    land_each(store, range(6, 10))
    former = at_end(store)
    overwrite(store, KEYS.manifest, older)
    land_each(store, [-1, -2])
    regrown = at_end(store)
    assert ERROR in codes(check(store, times=QUICK))
    mended(store, mend)
    assert_clean(store)
    assert sorted(numbers_in(store)) == [-2, -1, *range(1, 10)]
    assert numbers(early.poll()) == [6, 7, 8, 9, 10, 11]
    for consumer_of_others in (former, regrown):
        assert isinstance(consumer_of_others.poll()[0], Renumbered)


@MENDS
@pytest.mark.parametrize("prove", [pinned, consumed])
def test_a_place_behind_the_end(
    store: MemoryStore, mend: str, prove: Callable[[Store], None]
) -> None:
    land_each(store, [1, 2])
    older, early = store.read(KEYS.manifest).data, at_end(store)
    land_each(store, [3, 4])
    prove(store)
    late = at_end(store)
    overwrite(store, KEYS.manifest, older)
    report = check(store, times=QUICK)
    [finding] = [one for one in report.findings if one.code == ERROR]
    assert "has read the log up to 4, and the manifest ends at 2" in finding.message
    log_id = log.read_head(store, KEYS).manifest.log_id
    mended(store, mend)
    assert numbers_in(store) == [1, 2, 3, 4]
    assert ERROR not in codes(check(store, times=QUICK)), "of another log now"
    assert log.read_head(store, KEYS).manifest.log_id != log_id
    assert numbers(early.poll()) == [3, 4]
    assert isinstance(late.poll()[0], Renumbered)


def test_numbers_that_were_given_again_behind_a_pin(store: MemoryStore) -> None:
    """What was committed after the pin was made was never what the pin's log had there."""
    land_each(store, [1, 2])
    older, early = store.read(KEYS.manifest).data, at_end(store)
    land_each(store, [3, 4, 5, 6])
    pinned(store)
    without_copy(store)
    overwrite(store, KEYS.manifest, older)
    land_each(store, [-3])
    regrown = at_end(store)
    rebuild(store)
    assert sorted(numbers_in(store)) == [-3, 1, 2, 3, 4, 5, 6]
    assert numbers(early.poll()) == [3, 4, 5, 6, 7]
    assert isinstance(regrown.poll()[0], Renumbered)


def test_a_place_of_another_commit(store: MemoryStore) -> None:
    """Its digits say so, and nothing says where the logs parted: all is new."""
    land_each(store, [1, 2])
    older = store.read(KEYS.manifest).data
    land_each(store, [3])
    pinned(store)
    overwrite(store, KEYS.manifest, older)
    land_each(store, [-3, -4])
    without_copy(store)
    assert ERROR in codes(check(store, times=QUICK))
    report = rebuild(store)
    assert report.renumbered == [KEYS.folder]
    assert sorted(numbers_in(store)) == [-4, -3, 1, 2, 3]


@pytest.mark.parametrize("data", [None, b"{"], ids=["lost", "torn"])
@pytest.mark.parametrize("place", [pinned, consumed])
@pytest.mark.parametrize("mend", [rebuild, restore, lambda store: mended(store, "fix")])
def test_a_place_in_a_merge_that_cannot_be_read_proves_nothing(
    store: MemoryStore,
    data: bytes | None,
    place: Callable[[Store], None],
    mend: Callable[[Store], object],
) -> None:
    """It stops nobody who would mend the lake, and the check says what is wrong."""
    land_each(store, [1, 2])
    place(store)
    land_each(store, [3])
    vacuum(store, KEYS, OPTIONS)
    [document] = [row.key for row in store.list(KEYS.under("_merges"))]
    store.delete(document)
    if data is not None:
        store.create(document, data)
    log_id = log.read_head(store, KEYS).manifest.log_id
    found = codes(check(store, times=QUICK))
    assert "merge-wrong" in found
    assert ERROR not in found
    mend(store)
    assert numbers_in(store) == [1, 2, 3]
    assert log.read_head(store, KEYS).manifest.log_id == log_id


def test_an_orphan_proves_nothing(store: MemoryStore) -> None:
    """That of an interrupted commit looks like one that an older manifest does not name."""
    land_each(store, range(1, 8))
    put_orphan(store, 9)
    assert codes(check(store, times=QUICK)) == ["orphan-file"]
    log_id = log.read_head(store, KEYS).manifest.log_id
    rebuild(store)
    assert log.read_head(store, KEYS).manifest.log_id == log_id


def test_a_log_that_was_mended_is_not_put_back_unseen(store: MemoryStore) -> None:
    """The copy is of the log that was begun anew from the one that comes back."""
    land_each(store, range(1, 8))
    before = store.read(KEYS.manifest).data
    store.delete(KEYS.manifest)
    rebuild(store)
    land_each(store, range(8, 12))
    middle = at_end(store)
    overwrite(store, KEYS.manifest, before)
    assert ERROR in codes(check(store, times=QUICK))
    rebuild(store)
    assert numbers_in(store) == list(range(1, 12))
    assert middle.poll() == []
    assert_clean(store)


def test_what_proves_a_shorter_log_is_needed(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control: without it, an older manifest goes on under its id, and a reader skips."""
    monkeypatch.setattr("singerlake.lake.shortened.find", lambda *_: None)
    land_each(store, range(1, 6))
    older = store.read(KEYS.manifest).data
    land_each(store, [6, 7])
    late = at_end(store)
    overwrite(store, KEYS.manifest, older)
    land_each(store, [-1, -2, -3])
    rebuild(store)
    events = late.poll()
    assert not any(isinstance(event, Renumbered) for event in events)
    assert [event.kind for event in events if isinstance(event, Failed)] == ["StaleBookmark"]
    assert manifest_copy.read(store, KEYS) is not None
