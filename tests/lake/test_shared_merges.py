"""Merges that share files with each other, or with the log: each line comes back once, or stays."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from unittest import mock

import pytest

from singerlake.format.merge import Merge
from singerlake.lake import alone, check, merge, rebuild, retired
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
    overwrite,
)
from tests.lake.merging import AT_ONCE, OPTIONS, BeforeTheCommit, purge_at_once


@contextlib.contextmanager
def merges_known_by_memory_alone() -> Iterator[None]:
    """What it was: a merge is known by what it still remembers to have replaced."""
    with mock.patch.object(Merge, "sources", return_value={}):
        yield


@contextlib.contextmanager
def merges_that_share_nothing() -> Iterator[None]:
    """What it was: each merge whose files are gone is adopted, whatever else has its lines."""
    with (
        mock.patch.object(alone, "of_merge", return_value=set()),
        mock.patch.object(retired, "of_merge", return_value=set()),
    ):
        yield


def an_abandoned_merge_that_was_forgotten() -> MemoryStore:
    """Its files were merged by another vacuum, purged, merged again, and forgotten."""
    store = new_store()
    land_each(store, range(4))
    merge.merge_files(store, KEYS, files_in(store)[1:], 1, "abandoned")
    vacuum(store, KEYS, OPTIONS)
    for at in (10, 20):
        purge(store, KEYS, AT_ONCE)
        with mock.patch.object(merge, "FORGET", AT_ONCE):
            land_each(store, range(at, at + 4))
            vacuum(store, KEYS, OPTIONS)
    return store


def a_purge_that_died_and_an_older_manifest() -> MemoryStore:
    store = new_store()
    land_each(store, range(1, 9))
    rows, older = files_in(store), store.read(KEYS.manifest).data
    vacuum(store, KEYS, OPTIONS)
    for row in rows[:3]:
        store.delete(KEYS.under(row.path))
    overwrite(store, KEYS.manifest, older)
    return store


def two_merges_of_purged_files() -> MemoryStore:
    """The log knows of none of them: it was put back from before."""
    store = new_store()
    land_each(store, [0])
    older = store.read(KEYS.manifest).data
    land_each(store, range(1, 7))
    rows = files_in(store)
    merge.merge_files(store, KEYS, rows[0:4], 1, "first")
    merge.merge_files(store, KEYS, rows[2:6], 1, "second")
    for row in rows[1:6]:
        store.delete(KEYS.under(row.path))
    overwrite(store, KEYS.manifest, older)
    return store


def fixed(store: Store) -> None:
    check(store, fix=True, times=QUICK)


def rebuilt(store: Store) -> None:
    rebuild(store)


def without_manifest(store: Store) -> None:
    store.delete(KEYS.manifest)
    rebuild(store)


CASES: list[tuple[Callable[[], MemoryStore], list[int]]] = [
    (an_abandoned_merge_that_was_forgotten, [*range(4), *range(10, 14), *range(20, 24)]),
    (a_purge_that_died_and_an_older_manifest, [*range(1, 9)]),
    (two_merges_of_purged_files, [*range(7)]),
]


@pytest.mark.parametrize("mend", [rebuilt, without_manifest])
@pytest.mark.parametrize(("broken", "numbers"), CASES)
def test_each_line_comes_back_once(
    broken: Callable[[], MemoryStore], numbers: list[int], mend: Callable[[Store], None]
) -> None:
    store = broken()
    mend(store)
    assert sorted(numbers_in(store)) == numbers
    assert set(codes(check(store, times=QUICK))) <= {"orphan-merge"}
    fixed(store)
    purge_at_once(store)
    assert sorted(numbers_in(store)) == numbers
    assert_clean(store)
    store.delete(KEYS.manifest)
    rebuild(store)
    assert sorted(numbers_in(store)) == numbers
    land(store, [99])
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    assert sorted(numbers_in(store)) == [*numbers, 99]
    assert_clean(store)


@pytest.mark.parametrize(("broken", "numbers"), CASES)
def test_a_fix_adds_what_nothing_else_has_and_a_purge_leaves_the_rest_to_a_rebuild(
    broken: Callable[[], MemoryStore], numbers: list[int]
) -> None:
    store = broken()
    fixed(store)
    fixed(store)
    purge_at_once(store)
    rebuild(store)
    assert sorted(numbers_in(store)) == numbers
    purge_at_once(store)
    assert_clean(store)


def test_a_fix_doubles_nothing_where_rows_have_lost_their_files() -> None:
    store = a_purge_that_died_and_an_older_manifest()
    before = [row.sequence for row in files_in(store)]
    found = check(store, fix=True, times=QUICK)
    assert codes(found) == [*["file-missing"] * 3, "orphan-file"]
    assert not any(finding.fixable for finding in found.findings)
    assert [row.sequence for row in files_in(store)] == before


def test_of_two_fixes_at_once_each_adds_what_the_other_does_not() -> None:
    store = two_merges_of_purged_files()
    beside = BeforeTheCommit(store, fixed)
    fixed(beside)
    assert beside.happened
    assert sorted(numbers_in(store)) == list(range(7))
    fixed(store)
    assert sorted(numbers_in(store)) == list(range(7))


def test_a_part_keeps_who_committed_it() -> None:
    store = two_merges_of_purged_files()
    before = {row.checksum for row in files_in(store)}
    rebuild(store)
    rows = [row for row in files_in(store) if row.merge is not None]
    told = [merge.read_merge(store, KEYS, row) for row in rows]
    known = [each for one in told if one is not None for each in one.known_rows()]
    assert len(known) == sum(row.parts for row in rows)
    assert all(each.writer_id for each in known)
    assert before.isdisjoint(each.checksum for each in known)


@pytest.mark.parametrize(
    ("control", "broken", "mend"),
    [
        (merges_known_by_memory_alone, an_abandoned_merge_that_was_forgotten, fixed),
        (merges_that_share_nothing, two_merges_of_purged_files, rebuilt),
        (merges_that_share_nothing, two_merges_of_purged_files, fixed),
    ],
)
def test_the_controls_double_some(
    control: Callable[[], contextlib.AbstractContextManager[None]],
    broken: Callable[[], MemoryStore],
    mend: Callable[[Store], None],
) -> None:
    store = broken()
    with control():
        mend(store)
    there = numbers_in(store)
    assert len(there) > len(set(there))
