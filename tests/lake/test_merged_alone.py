"""A merged file that no manifest names: a left-over, unless nothing else has its lines."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from singerlake.lake import check, merge, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import vacuum
from singerlake.store import MemoryStore, Store
from tests.lake.landing import (
    KEYS,
    QUICK,
    assert_clean,
    codes,
    files_in,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
    overwrite,
    paths_in,
)
from tests.lake.merging import AT_ONCE, OPTIONS, merged_lake, purge_at_once


def with_an_older_manifest() -> MemoryStore:
    """Four files were merged and purged; then the manifest of before the vacuum was put back."""
    store = new_store()
    land_each(store, range(4))
    older = store.read(KEYS.manifest).data
    vacuum(store, KEYS, OPTIONS)
    assert purge(store, KEYS, AT_ONCE)
    overwrite(store, KEYS.manifest, older)
    return store


def with_a_lost_merge_of_a_merge() -> MemoryStore:
    """What is left are a merged file whose originals are purged, and four files."""
    store = merged_lake(*range(4))
    purge(store, KEYS, AT_ONCE)
    land_each(store, range(4, 8))
    vacuum(store, KEYS, OPTIONS)
    (path,) = paths_in(store)
    store.delete(KEYS.under(path))
    return store


def rebuilt(store: Store) -> None:
    rebuild(store)


def fixed(store: Store) -> None:
    check(store, fix=True, times=QUICK)
    rebuild(store)  # it alone takes rows out whose files are gone


@pytest.mark.parametrize("mend", [rebuilt, fixed])
@pytest.mark.parametrize(
    ("damaged", "numbers"), [(with_an_older_manifest, 4), (with_a_lost_merge_of_a_merge, 8)]
)
def test_the_only_copy_comes_back(
    damaged: Callable[[], MemoryStore], numbers: int, mend: Callable[[Store], None]
) -> None:
    store = damaged()
    mend(store)
    assert sorted(numbers_in(store)) == list(range(numbers))
    purge_at_once(store)
    assert_clean(store)
    assert sorted(numbers_in(store)) == list(range(numbers))
    land(store, [numbers])
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    assert_clean(store)
    assert sorted(numbers_in(store)) == list(range(numbers + 1))


@pytest.mark.parametrize("damaged", [with_an_older_manifest, with_a_lost_merge_of_a_merge])
def test_a_purge_leaves_the_only_copy(damaged: Callable[[], MemoryStore]) -> None:
    store = damaged()
    before = objects_in(store, ".gz")
    assert "orphan-merge" not in codes(check(store, times=QUICK))
    purge_at_once(store)
    assert objects_in(store, ".gz") == before


def test_what_it_replaced_and_is_still_there_does_not_come_with_it() -> None:
    store = merged_lake(*range(4))
    first, *_ = [file.path for file in merge_retirees(store)]
    store.delete(KEYS.under(first))  # a purge that was interrupted
    (merged,) = files_in(store)
    document = merged.merge.path if merged.merge else ""
    overwrite(store, KEYS.manifest, emptied(store))
    assert codes(check(store, times=QUICK)) == ["orphan-file"]
    assert rebuild(store).adopted == [KEYS.under(merged.path)]
    assert numbers_in(store) == [0, 1, 2, 3]
    assert document in {one.path for one in merge_retirees(store, documents=True)}
    purge_at_once(store)
    assert objects_in(store, ".gz") == [KEYS.under(merged.path)]
    assert_clean(store)


def test_one_whose_files_another_merge_stands_for_is_a_left_over() -> None:
    """Two vacuums at once: the second is refused, and leaves its file behind."""
    store = new_store()
    land_each(store, range(4))
    files = files_in(store)
    left = merge.merge_files(store, KEYS, files, 1, "refused")
    vacuum(store, KEYS, OPTIONS)
    purge(store, KEYS, AT_ONCE)
    assert set(codes(check(store, times=QUICK))) == {"orphan-merge"}
    assert rebuild(store).adopted == []
    assert numbers_in(store) == [0, 1, 2, 3]
    assert KEYS.under(left.path) in purge_at_once(store)
    assert_clean(store)


def merge_retirees(store: Store, documents: bool = False) -> list[merge.Retiree]:
    (file,) = files_in(store)
    told = merge.read_merge(store, KEYS, file)
    assert told is not None
    return [one for one in told.retired if documents or one.checksum]


def emptied(store: Store) -> bytes:
    """The stream's manifest without its files, as one from before the first commit."""
    empty = new_store()
    land_each(empty, [0])
    rebuilt = files_in(empty)
    empty.delete(KEYS.under(rebuilt[0].path))
    rebuild(empty)
    assert files_in(empty) == []
    return empty.read(KEYS.manifest).data
