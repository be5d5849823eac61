"""Files that were merged, purged and forgotten, and that a backup brings back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from unittest import mock

import pytest

from singerlake.format.merge import Merge, Retiree
from singerlake.lake import check, merge, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.restoring import restore
from singerlake.lake.returned import Returned
from singerlake.lake.vacuum import vacuum
from singerlake.store import MemoryStore, Store
from tests.lake.landing import (
    KEYS,
    QUICK,
    assert_clean,
    files_in,
    land_each,
    new_store,
    numbers_in,
    older_names,
    overwrite,
)
from tests.lake.merging import AT_ONCE, OPTIONS, purge_at_once


def brought_back() -> tuple[MemoryStore, list[str]]:
    """Three files, merged twice: the second merge does not know them any more. Then they are put
    back, beside all that came since."""
    store = new_store()
    land_each(store, [0, 1, 2])
    keys = [KEYS.under(row.path) for row in files_in(store)]
    backup = {key: store.read(key).data for key in keys}
    vacuum(store, KEYS, OPTIONS)
    purge(store, KEYS, AT_ONCE)
    land_each(store, [3, 4, 5])
    with mock.patch.object(merge, "FORGET", AT_ONCE):
        vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    for key, data in backup.items():
        store.create(key, data)
    return store, keys


def fix(store: Store) -> None:
    check(store, fix=True, times=QUICK)


def lose_manifest(store: Store) -> None:
    store.delete(KEYS.manifest)


def lose_every_manifest(store: Store) -> None:
    lose_manifest(store)
    store.delete(KEYS.manifest_copy)


def tear_manifest(store: Store) -> None:
    overwrite(store, KEYS.manifest, b"{")


MENDS = [rebuild, restore, fix]
HARMS: list[Callable[[Store], object]] = [
    lambda store: None,
    lose_manifest,
    lose_every_manifest,
    tear_manifest,
]


@pytest.mark.parametrize("names", [contextlib.nullcontext, older_names])
@pytest.mark.parametrize("harm", HARMS)
@pytest.mark.parametrize("mend", MENDS)
def test_what_a_merge_has_is_not_adopted_beside_it(
    names: Callable[[], contextlib.AbstractContextManager[None]],
    harm: Callable[[Store], object],
    mend: Callable[[Store], object],
) -> None:
    with names():
        store, _ = brought_back()
    harm(store)
    mend(store)
    assert numbers_in(store) == [0, 1, 2, 3, 4, 5]
    assert_clean(store)


def test_a_reader_without_a_manifest_takes_it_once() -> None:
    store, _ = brought_back()
    lose_manifest(store)
    assert sorted(numbers_in(store)) == [0, 1, 2, 3, 4, 5]


def test_a_check_calls_it_no_orphan_and_a_purge_removes_it() -> None:
    store, back = brought_back()
    assert_clean(store)
    assert set(back) <= set(purge_at_once(store))
    assert numbers_in(store) == [0, 1, 2, 3, 4, 5]


def test_it_stays_as_long_as_the_merged_file_is_not_there() -> None:
    store, back = brought_back()
    (merged,) = files_in(store)
    store.delete(KEYS.under(merged.path))
    assert not set(back) & set(purge_at_once(store))
    rebuild(store)
    assert sorted(numbers_in(store)) == [0, 1, 2], "all that is left"


def only_what_it_remembers(returned: Returned, merge: Merge) -> list[Retiree]:
    return list(merge.retired)


def test_control() -> None:
    """What it was: a merge knows what it was made from by what it still remembers."""
    store, _ = brought_back()
    with mock.patch.object(Returned, "replaced_by", only_what_it_remembers):
        rebuild(store)
    assert numbers_in(store) == [0, 1, 2, 3, 4, 5, 0, 1, 2]
