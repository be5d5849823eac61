"""Mending beside jobs: what a job has not committed is not adopted, where that can be told.

A job was killed between its commit and the removal of its notes: of its first task there are two
attempts, of which one was committed.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from singerlake.lake import check, rebuild
from singerlake.lake.restoring import restore
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import MemoryStore, Store
from tests.lake.landing import (
    KEYS,
    QUICK,
    assert_clean,
    new_store,
    numbers_in,
    overwrite,
    put_orphan,
)
from tests.lake.test_markers import run
from tests.lake.test_uploads import Job

Mend = Callable[[Store], object]


def fix(store: Store) -> None:
    check(store, fix=True, times=QUICK)


MENDS = pytest.mark.parametrize("mend", [rebuild, restore, fix])


def killed_after_its_commit(store: Store) -> Job:
    job = Job(store)
    job.upload_all()
    job.commit_only()
    return job


@pytest.fixture
def store() -> MemoryStore:
    store = new_store()
    run(store, 0)
    return store


@MENDS
def test_another_attempt_is_not_adopted_beside_an_orphan(store: MemoryStore, mend: Mend) -> None:
    killed_after_its_commit(store)
    put_orphan(store, 9)
    mend(store)
    assert numbers_in(store) == [0, 1, 2, 9]


@MENDS
def test_a_job_that_is_under_way_commits_each_record_once(store: MemoryStore, mend: Mend) -> None:
    job = Job(store)
    job.upload_all()
    put_orphan(store, 9)
    mend(store)
    assert numbers_in(store) == [0, 9]
    job.commit()
    assert numbers_in(store) == [0, 9, 1, 2]
    assert_clean(store)


@MENDS
@pytest.mark.parametrize("merged", [False, True])
def test_another_attempt_is_not_adopted_in_a_log_that_is_begun_anew(
    store: MemoryStore, mend: Mend, merged: bool
) -> None:
    killed_after_its_commit(store)
    if merged:
        vacuum(store, KEYS, VacuumOptions())
    older = store.read(KEYS.manifest).data
    run(store, 7)
    overwrite(store, KEYS.manifest, older)
    mend(store)
    assert numbers_in(store) == [0, 1, 2, 7]


@MENDS
def test_another_attempt_is_not_adopted_where_a_merge_alone_tells_of_the_commit(
    store: MemoryStore, mend: Mend
) -> None:
    older = store.read(KEYS.manifest).data
    killed_after_its_commit(store)
    vacuum(store, KEYS, VacuumOptions())
    run(store, 7)
    overwrite(store, KEYS.manifest, older)
    mend(store)
    assert numbers_in(store) == [0, 1, 2, 7]


@MENDS
def test_another_attempt_is_not_adopted_where_the_manifest_is_lost(
    store: MemoryStore, mend: Mend
) -> None:
    killed_after_its_commit(store)
    vacuum(store, KEYS, VacuumOptions())
    store.delete(KEYS.manifest_copy)
    store.delete(KEYS.manifest)
    mend(store)
    assert numbers_in(store) == [0, 1, 2]


@MENDS
def test_a_job_of_which_nothing_is_known_is_adopted(store: MemoryStore, mend: Mend) -> None:
    """Its commit may be among those that were lost: twice is better than not at all."""
    older = store.read(KEYS.manifest).data
    killed_after_its_commit(store)
    run(store, 7)
    overwrite(store, KEYS.manifest, older)
    mend(store)
    assert set(numbers_in(store)) == {0, 1, 2, 7}
