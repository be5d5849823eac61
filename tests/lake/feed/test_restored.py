"""A manifest that was put back from a backup, or written by an older Singerlake, is noticed."""

from __future__ import annotations

import msgspec
import pytest

from singerlake import rebuild
from singerlake.format import manifest as manifests
from singerlake.format.manifest import Gap
from singerlake.lake import clock, log
from singerlake.lake.feed.event import Committed, Event, Failed, Lost, Replaced
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import MemoryStore, Store
from tests.lake.feed.clockwork import Following
from tests.lake.landing import KEYS, PATIENT, files_in, land_each, new_store, overwrite


@pytest.fixture
def store() -> MemoryStore:
    return new_store()


def merge_all(store: Store) -> None:
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))


def change(store: Store, **fields: object) -> None:
    head = log.read_head(store, KEYS)
    commit = msgspec.structs.replace(head.manifest.commit, id="older", time=clock.now())
    changed = msgspec.structs.replace(head.manifest, commit=commit, **fields)
    store.replace(KEYS.manifest, manifests.encode(changed), head.version)


def kinds(events: list[Event]) -> list[str]:
    return [event.kind if isinstance(event, Failed) else type(event).__name__ for event in events]


def test_another_vacuum_after_that_is_reported_too(store: MemoryStore) -> None:
    land_each(store, [1, 2, 3])
    before = store.read(KEYS.manifest).data
    merge_all(store)
    consumer = Following(store)
    consumer.poll()
    overwrite(store, KEYS.manifest, before)
    merge_all(store)
    [event] = consumer.poll()
    assert isinstance(event, Replaced)
    assert event.files == tuple(files_in(store))


def test_the_vacuum_of_an_older_singerlake_is_reported_at_once(store: MemoryStore) -> None:
    land_each(store, [1, 2, 3])
    consumer = Following(store)
    consumer.poll()
    for _ in range(2):  # also where the manifest that was read had no number either
        merge_all(store)
        change(store, revision=None, revisions=())
        [event] = consumer.poll()
        assert isinstance(event, Replaced)
        assert event.files == tuple(files_in(store))
        land_each(store, [4, 5])
        change(store, revision=None, revisions=())
        consumer.poll()


def test_a_bookmark_at_a_lost_number_notices_a_file_there(store: MemoryStore) -> None:
    land_each(store, [1])
    before = store.read(KEYS.manifest).data
    land_each(store, [2])
    store.delete(KEYS.under(files_in(store)[1].path))
    rebuild(store)
    consumer = Following(store)
    assert kinds(consumer.poll()) == ["Committed", "Lost"]
    overwrite(store, KEYS.manifest, before)
    land_each(store, [3, 4])
    assert kinds(consumer.poll()) == ["StaleBookmark"]


def test_a_file_that_got_its_number_again_behind_others_is_noticed(store: MemoryStore) -> None:
    land_each(store, [1])
    before = store.read(KEYS.manifest).data
    land_each(store, [2, 3])
    consumer = Following(store)
    consumer.poll()
    first, second = files_in(store)[1:]
    overwrite(store, KEYS.manifest, before)
    land_each(store, [4])
    store.delete(KEYS.under(first.path))
    rebuild(store)
    assert [file.path for file in files_in(store)][2] == second.path
    assert kinds(consumer.poll()) == ["StaleBookmark"]


def test_a_file_that_was_lost_is_no_other_commit(store: MemoryStore) -> None:
    land_each(store, [1, 2])
    consumer = Following(store)
    consumer.poll()
    store.delete(KEYS.under(files_in(store)[1].path))
    rebuild(store)
    land_each(store, [3])
    assert kinds(consumer.poll()) == ["Lost", "Committed"]


def test_the_loss_of_another_commit_under_the_number_is_no_excuse(store: MemoryStore) -> None:
    land_each(store, [1])
    before = store.read(KEYS.manifest).data
    land_each(store, [2, 3])
    consumer = Following(store)
    consumer.poll()
    overwrite(store, KEYS.manifest, before)
    land_each(store, [4, 5, 6])
    store.delete(KEYS.under(files_in(store)[2].path))
    rebuild(store)
    assert kinds(consumer.poll()) == ["StaleBookmark"], "the second commit is another now"


def test_the_loss_of_every_file_hides_no_other_commit(store: MemoryStore) -> None:
    land_each(store, [1])
    before = store.read(KEYS.manifest).data
    land_each(store, [2])
    backup = store.read(KEYS.manifest).data
    overwrite(store, KEYS.manifest, before)
    land_each(store, [3])
    consumer = Following(store)
    consumer.poll()
    overwrite(store, KEYS.manifest, backup)
    for row in list(store.list(KEYS.folder)):
        if row.key.endswith(".singer.gz"):
            store.delete(row.key)
    rebuild(store)
    assert files_in(store) == []
    assert kinds(consumer.poll()) == ["StaleBookmark"], "the second commit was another then"


def test_a_gap_that_overlaps_files_gives_only_numbers_without_one(store: MemoryStore) -> None:
    land_each(store, [1, 2, 3])
    gap = Gap(first_sequence=1, last_sequence=2, reason="by hand", recorded=clock.now())
    change(store, gaps=(gap,))
    events = Following(store).poll()
    assert [type(event) for event in events] == [Committed] * 3
    assert not [event for event in events if isinstance(event, Lost)]
