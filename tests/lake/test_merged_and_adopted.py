"""Files that are merged while someone adopts them, and adopted while someone merges them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pytest

from singerlake.errors import BusyError
from singerlake.format.manifest import File
from singerlake.lake import CheckReport, check, inventory, merge, rebuild, replacement
from singerlake.lake import fix as mending
from singerlake.lake.inventory import Inventory
from singerlake.lake.replacement import Replacement
from singerlake.lake.vacuum import vacuum
from singerlake.store import Listed, Store, StoreWrapper
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    assert_clean,
    codes,
    files_in,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
)
from tests.lake.merging import OPTIONS, BeforeTheCommit, purge_at_once


@pytest.mark.parametrize("purged", [False, True])
def test_a_slow_writer_finds_its_file_adopted_and_merged_and_does_not_commit_it_again(
    purged: bool,
) -> None:
    store = new_store()
    land(store, [1])

    def adopt_and_merge(inner: Store) -> None:
        assert codes(check(inner, fix=True, times=QUICK)) == ["orphan-file", "stale-lock"]
        vacuum(inner, KEYS, OPTIONS)
        if purged:
            purge_at_once(inner)

    (committed,) = land(BeforeTheCommit(store, adopt_and_merge), [2])
    assert numbers_in(store) == [1, 2]
    assert committed.path == files_in(store)[0].path
    assert_clean(store)


def test_a_slow_writer_finds_its_file_also_where_the_merged_file_was_merged_again() -> None:
    store = new_store()
    land(store, [1])

    def adopt_and_merge_twice(inner: Store) -> None:
        check(inner, fix=True, times=QUICK)
        vacuum(inner, KEYS, OPTIONS)
        land_each(inner, [3, 4])
        vacuum(inner, KEYS, OPTIONS)
        purge_at_once(inner)
        assert len(objects_in(inner, ".singer.gz")) == 1

    (committed,) = land(BeforeTheCommit(store, adopt_and_merge_twice), [2])
    assert numbers_in(store) == [1, 2, 3, 4]
    assert committed.path == files_in(store)[0].path
    assert_clean(store)


def test_a_file_that_was_committed_and_merged_since_it_looked_like_an_orphan_is_not_adopted() -> (
    None
):
    store = new_store()
    land(store, [1])
    seen: list[tuple[Inventory, CheckReport]] = []

    def look(inner: Store) -> None:
        seen.append((inventory.take(inner), check(inner, times=QUICK)))

    land(BeforeTheCommit(store, look), [2])
    ((found, report),) = seen
    assert codes(report) == ["orphan-file", "stale-lock"]
    vacuum(store, KEYS, OPTIONS)
    assert mending.fix(store, found, report.findings, {}, PATIENT) == []
    assert numbers_in(store) == [1, 2]
    assert_clean(store)


class TornListing(StoreWrapper):
    """Lists the merge documents before something happens, and the files after it."""

    def __init__(self, inner: Store, meanwhile: Callable[[], object]) -> None:
        super().__init__(inner)
        self._meanwhile = meanwhile
        self.happened = False

    def list(self, prefix: str) -> Iterator[Listed]:
        early = [row for row in self.inner.list(prefix) if not row.key.endswith(".singer.gz")]
        if not self.happened:
            self.happened = True
            self._meanwhile()
        late = [row for row in self.inner.list(prefix) if row.key.endswith(".singer.gz")]
        return iter(sorted([*early, *late], key=lambda row: row.key))


@pytest.mark.parametrize("mend", ["check", "rebuild"])
def test_a_merged_file_that_a_listing_shows_without_its_document_is_no_orphan(mend: str) -> None:
    store = new_store()
    land_each(store, range(5))
    group = tuple(files_in(store))
    merged: list[File] = []
    torn = TornListing(
        store, lambda: merged.append(merge.merge_files(store, KEYS, group, 1, "vacuum"))
    )
    if mend == "check":
        assert check(torn, fix=True, times=QUICK).fixed == []
    else:
        assert rebuild(torn).adopted == []
    assert torn.happened
    assert numbers_in(store) == list(range(5))
    replacement.commit_merges(store, KEYS, [Replacement(merged[0], group)], "vacuum", PATIENT)
    assert numbers_in(store) == list(range(5))
    assert_clean(store)


def test_a_merge_does_not_take_the_numbers_of_a_log_that_is_no_more() -> None:
    """A slow writer committed the newest record first: a rebuild by times numbers it last."""
    store = new_store()
    land(store, range(9, 16))
    land_each(store, [1, 2, 3])

    def numbered_anew(
        work: Callable[[tuple[File, ...]], File], groups: Iterable[tuple[File, ...]]
    ) -> Iterator[File]:
        planned = list(groups)
        assert [[file.sequence for file in group] for group in planned] == [[2, 3, 4]]
        store.delete(KEYS.manifest)
        assert rebuild(store).renumbered == [KEYS.folder]
        return map(work, planned)

    with pytest.raises(BusyError, match="a rebuild came between"):
        vacuum(store, KEYS, OPTIONS, run=numbered_anew)
    assert [file.sequence for file in files_in(store)] == [1, 2, 3, 4]
    assert numbers_in(store) == [1, 2, 3, *range(9, 16)]
    assert set(codes(check(store, times=QUICK))) == {"orphan-merge"}
    purge_at_once(store)
    vacuum(store, KEYS, OPTIONS)
    assert numbers_in(store) == [1, 2, 3, *range(9, 16)]
    purge_at_once(store)
    assert_clean(store)
