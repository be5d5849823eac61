"""The copy of a manifest: when it is written, what it outlives, and what it costs."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

from singerlake.errors import Unavailable
from singerlake.format import manifest as manifests
from singerlake.lake import check, log, manifest_copy, rebuild
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Counting, MemoryStore, Store
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    assert_clean,
    codes,
    files_in,
    land_each,
    new_store,
    numbers_in,
    overwrite,
)

FEW = manifests.FAN_OUT
pytestmark = pytest.mark.usefixtures("small_segments")


def land_sixteen(store: Store) -> None:
    land_each(store, range(100, 116))


def land_and_merge(store: Store) -> None:
    land_each(store, range(100, 108))
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))


@pytest.fixture
def store() -> MemoryStore:
    return new_store()


def copied(store: Store) -> int:
    """The last number of the copy; 0 where there is none."""
    copy = manifest_copy.read(store, KEYS)
    return 0 if copy is None else copy.last_sequence


def test_a_copy_is_written_where_rows_are_sealed(store: MemoryStore) -> None:
    lasts = []
    for number in range(1, 10):
        land_each(store, [number])
        lasts.append(copied(store))
    assert lasts == [0, 0, 0, 0, 5, 5, 7, 7, 9]
    copy = manifest_copy.read(store, KEYS)
    assert copy == log.read_head(store, KEYS).manifest
    assert_clean(store)


def test_a_copy_follows_a_vacuum(store: MemoryStore) -> None:
    land_each(store, [1, 2, 3])
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))
    assert manifest_copy.read(store, KEYS) == log.read_head(store, KEYS).manifest


def test_a_copy_costs_two_requests_for_each_segment(store: MemoryStore) -> None:
    """At two rows a segment; at a hundred, 0.02 a commit."""
    counted = Counting(store)
    land_each(counted, range(1, 5))
    requests = []
    for number in range(5, 13):
        counted.reset()
        land_each(counted, [number])
        kinds = {kind: n for kind, n in counted.counts.items() if kind != "promise"}
        requests.append(sum(kinds.values()))
    plain = requests[1]
    assert [one - plain for one in requests] == [3, 0] * 4, "the segment, and a look and a put"


def test_a_commit_does_not_fail_with_its_copy(
    store: MemoryStore, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    land_each(store, range(1, 5))
    create = MemoryStore.create

    def failing(self: MemoryStore, key: str, data: bytes) -> str:
        if key == KEYS.manifest_copy:
            raise Unavailable("no answer")
        return create(self, key, data)

    monkeypatch.setattr(MemoryStore, "create", failing)
    with caplog.at_level(logging.WARNING):
        land_each(store, [5])
    assert "manifest.copy.json: not written: no answer" in caplog.text
    monkeypatch.undo()
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    assert numbers_in(store) == [1, 2, 3, 4, 5]
    assert copied(store) == 0
    land_each(store, [6, 7])
    assert copied(store) == 7


def test_a_copy_is_not_replaced_by_an_older_one(store: MemoryStore) -> None:
    """A writer that slept behind its put comes late; and one that goes on behind an older manifest
    must not take away what proves that there was more."""
    land_each(store, range(1, 6))
    early = log.read_head(store, KEYS).manifest
    older = store.read(KEYS.manifest).data
    land_each(store, range(6, 10))
    manifest_copy.keep(store, KEYS, early)
    assert copied(store) == 9
    overwrite(store, KEYS.manifest, older)
    land_each(store, [-1, -2])  # seals, at 7
    assert copied(store) == 9
    land_each(store, [-3, -4, -5, -6])  # seals, at 9 and at 11: others than were there
    assert copied(store) == 9
    assert "log-shorter" in codes(check(store, times=QUICK))


@pytest.mark.parametrize("then", [land_sixteen, land_and_merge])
def test_a_copy_stays_whatever_became_of_its_last_number(
    store: MemoryStore, then: Callable[[Store], object]
) -> None:
    """Which another commit has behind an older manifest: also one that is sealed, or merged."""
    land_each(store, range(3))
    older = store.read(KEYS.manifest).data
    land_each(store, range(3, 8))
    overwrite(store, KEYS.manifest, older)
    then(store)
    assert copied(store) == 7
    assert "log-shorter" in codes(check(store, times=QUICK))
    rebuild(store)
    assert_clean(store)
    assert copied(store) == log.read_head(store, KEYS).manifest.last_sequence


def test_a_copy_of_the_same_commits_is_replaced_though_its_last_number_was_sealed(
    store: MemoryStore,
) -> None:
    land_each(store, range(1, 9))
    manifest_copy.keep(store, KEYS, log.read_head(store, KEYS).manifest)
    assert copied(store) == 8
    land_each(store, range(9, 12))
    assert copied(store) == 11
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))
    land_each(store, range(12, 16))
    assert copied(store) == 15


def test_a_damaged_copy_is_written_anew(store: MemoryStore) -> None:
    land_each(store, range(1, 8))
    overwrite(store, KEYS.manifest_copy, b"{")
    assert codes(check(store, times=QUICK)) == ["copy-corrupt"]
    assert numbers_in(store) == list(range(1, 8))
    check(store, fix=True, times=QUICK)
    assert_clean(store)
    assert copied(store) == 7
    overwrite(store, KEYS.manifest_copy, b"{")
    land_each(store, range(8, 10))
    assert copied(store) == 9


def test_a_purge_leaves_the_copy_and_no_reader_lists_it(store: MemoryStore) -> None:
    from datetime import timedelta

    from singerlake.lake.purging import purge

    land_each(store, range(1, 8))
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT))
    purge(store, KEYS, timedelta(0), abandoned=timedelta(0))
    assert copied(store) == 7
    assert_clean(store)
    assert len(files_in(store)) == 1
