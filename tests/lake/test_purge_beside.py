"""A purge at any moment of a rebuild or a fix, and these at any moment of a purge."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from singerlake.errors import MissingFile
from singerlake.lake import check, merge, rebuild, rebuilding, replacement
from singerlake.lake.purging import purge
from singerlake.lake.restoring import restore
from singerlake.lake.vacuum import vacuum
from singerlake.store import MemoryStore, Store
from tests.faults import variant
from tests.lake.faulty_store import Intercepting, Result
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    assert_clean,
    codes,
    copy_of,
    files_in,
    land,
    land_each,
    new_store,
    numbers_in,
    overwrite,
    put_orphan,
)
from tests.lake.merging import AT_ONCE, OPTIONS, purge_at_once


class AtRequest(Intercepting):
    """Something else happens before the request with this number."""

    def __init__(self, inner: Store, number: int, meanwhile: Callable[[Store], object]) -> None:
        super().__init__(inner)
        self._left, self._meanwhile = number, meanwhile

    @property
    def happened(self) -> bool:
        return self._left <= 0

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        self._left -= 1
        if self._left == 0:
            self._meanwhile(self.inner)
        return call()


def to_purge() -> MemoryStore:
    """Replaced files, a merge that was given up, one that was refused, and an orphan."""
    store = new_store()
    land_each(store, range(4))
    rows = files_in(store)
    merge.merge_files(store, KEYS, rows[:3], 1, "refused")
    vacuum(store, KEYS, OPTIONS)
    land_each(store, range(4, 7))
    merge.merge_files(store, KEYS, files_in(store)[-2:], 1, "given up")
    put_orphan(store, 7)
    return store


def of_an_older_manifest() -> MemoryStore:
    """The manifest ends before a merged file that its copy names, and a merge was given up."""
    store = new_store()
    land(store, range(5))
    land_each(store, [5])
    merge.merge_files(store, KEYS, files_in(store), 1, "given up")
    older = store.read(KEYS.manifest).data
    land_each(store, [6, 7])
    replacement.commit_merges(store, KEYS, _pair(store), "vacuum", PATIENT, lambda: None)
    overwrite(store, KEYS.manifest, older)
    return store


def _pair(store: Store) -> list[replacement.Replacement]:
    """The last two files, and what they are merged into."""
    last = tuple(files_in(store)[-2:])
    return [replacement.Replacement(merge.merge_files(store, KEYS, last, 1, "vacuum"), last)]


def fixed(store: Store) -> None:
    check(store, fix=True, times=QUICK)


MENDERS: dict[str, Callable[[Store], object]] = {"rebuild": rebuild, "check --fix": fixed}


def moments(
    work: Callable[[Store], object],
    meanwhile: Callable[[Store], object],
    most: int = 80,
    lake: Callable[[], MemoryStore] = to_purge,
) -> list[list[int]]:
    """What is there after something else came between, for each request between which it can."""
    before, found = lake(), []
    for number in range(1, most):
        store = copy_of(before)
        beside = AtRequest(store, number, meanwhile)
        work(beside)
        if not beside.happened:
            return found
        numbers_in(store)  # it can be read
        fixed(store)
        found.append(sorted(numbers_in(store)))
        assert set(codes(check(store, times=QUICK))) <= {"orphan-merge"}
        purge_at_once(store)
        assert_clean(store)
    raise AssertionError("it has more requests than that")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mender", MENDERS)
def test_a_purge_beside_a_mender_leaves_each_line_once(mender: str) -> None:
    found = moments(MENDERS[mender], purge_at_once)
    assert len(found) > 10
    assert all(numbers == list(range(8)) for numbers in found)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mender", MENDERS)
def test_a_mender_beside_a_purge_leaves_each_line_once(mender: str) -> None:
    found = moments(purge_at_once, MENDERS[mender])
    assert len(found) > 10
    assert all(numbers == list(range(8)) for numbers in found)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("mender", [rebuild, restore, fixed])
def test_beside_an_older_manifest_too(mender: Callable[[Store], object]) -> None:
    """What the copy of the manifest proves is put back by the one, so the other lets it be."""
    for work, meanwhile in ((mender, purge_at_once), (purge_at_once, mender)):
        found = moments(work, meanwhile, lake=of_an_older_manifest)
        assert len(found) > 8
        assert all(numbers == list(range(8)) for numbers in found)


def test_the_control_purges_what_the_copy_names() -> None:
    with variant.asking_no_copy(), pytest.raises(MissingFile):
        moments(purge_at_once, rebuild, lake=of_an_older_manifest)


def test_a_rebuild_looks_again_at_what_the_copy_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """An older program purges without asking the copy."""
    store = of_an_older_manifest()
    look = rebuilding._are_there

    def late(*given: Any) -> bool:
        with variant.asking_no_copy():
            for key in purge(copy_of(store), KEYS, AT_ONCE, abandoned=AT_ONCE):
                store.delete(key)
        return look(*given)

    monkeypatch.setattr(rebuilding, "_are_there", late)
    rebuild(store)
    assert sorted(numbers_in(store)) == list(range(8))


@pytest.mark.timeout(300)
def test_the_control_names_files_that_are_gone() -> None:
    with variant.looking_once(), pytest.raises(MissingFile):
        moments(rebuild, purge_at_once)
