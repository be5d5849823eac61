"""The document of a merge is lost, and another of the same file is there: that says the same."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest

from singerlake.lake import Lake, check, log, rebuild, retired
from singerlake.lake.restoring import restore
from singerlake.lake.vacuum import vacuum
from singerlake.store import MemoryStore, Store
from tests.lake.landing import (
    KEYS,
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    codes,
    land_each,
    new_store,
    numbers_in,
    overwrite,
)
from tests.lake.merging import OPTIONS, merged_lake, purge_at_once

ALL = [0, 1, 2, 3, 4, 5]


def an_older_manifest_of_another_log() -> MemoryStore:
    """The log was made anew, so that the merged file has a second document; a purge removed the
    first. Then the manifest of before is put back, which names that one."""
    store = new_store()
    land_each(store, range(4))
    vacuum(store, KEYS, OPTIONS)
    older = store.read(KEYS.manifest).data
    for key in (KEYS.manifest, KEYS.manifest_copy):
        store.delete(key)
    rebuild(store)
    purge_at_once(store)
    land_each(store, [4, 5])
    overwrite(store, KEYS.manifest, older)
    return store


@pytest.mark.parametrize("mend", [rebuild, restore])
@pytest.mark.parametrize("purges", [0, 1])
def test_what_came_behind_is_adopted(mend: Callable[[Store], object], purges: int) -> None:
    store = an_older_manifest_of_another_log()
    stream = Lake(store).stream(TAP, STREAM)
    before = stream.increment().until
    for _ in range(purges):
        purge_at_once(store)
    mend(store)
    assert numbers_in(store) == ALL
    assert_clean(store)
    assert restore(store).agrees
    assert [file.sequence for file in stream.increment(before).files()] == [5, 6]


def test_a_fix_adopts_it_too() -> None:
    store = an_older_manifest_of_another_log()
    check(store, fix=True, times=QUICK)
    assert numbers_in(store) == ALL
    assert codes(check(store, times=QUICK)) == ["merge-wrong"]
    rebuild(store)
    assert_clean(store)


@pytest.mark.parametrize("mend", [rebuild, restore])
def test_control(mend: Callable[[Store], object]) -> None:
    """What it was: without its own document nobody knows what a merge replaced."""
    store = an_older_manifest_of_another_log()
    with mock.patch.object(retired, "standing_in", return_value={}):
        purge_at_once(store)
        mend(store)
    assert numbers_in(store) == [0, 1, 2, 3]


def test_a_restore_tells_of_a_document_that_nothing_stands_in_for() -> None:
    store = merged_lake(0, 1, 2)
    assert restore(store).agrees
    (row,) = log.read_head(store, KEYS).manifest.files
    assert row.merge is not None
    store.delete(KEYS.under(row.merge.path))
    (stands,) = restore(store).streams
    assert (stands.state, stands.missing_files) == ("missing files", 1)
    assert not restore(store).agrees
    assert numbers_in(store) == [0, 1, 2]
