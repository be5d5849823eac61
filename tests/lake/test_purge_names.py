"""A purge beside writers of records with the same times: their files have names of their own."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.errors import OutcomeUnknown
from singerlake.lake import rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import LocalStore, MemoryStore, Promise, Retrying, RetryPolicy, Store
from singerlake.store.generic import FsspecStore
from tests.lake.faulty_store import At, Hooked, Intercepting, Result
from tests.lake.landing import KEYS, QUICK, assert_clean, land, numbers_in, objects_in

AT_ONCE = timedelta(0)

freed: set[str] = set()
"""The keys that a purge makes free."""


class Conditional(FsspecStore):
    """The weakest store, taken at its word."""

    def promise(self) -> Promise:
        return Promise.CONDITIONAL


@pytest.fixture(params=["memory", "local", "weak"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Two files, and the merged one that stands for them."""
    freed.clear()
    kinds: dict[str, Callable[[], Store]] = {
        "memory": lambda: MemoryStore(uuid.uuid4().hex),
        "local": lambda: LocalStore(tmp_path),
        "weak": lambda: Conditional(f"memory://{uuid.uuid4().hex}/lake"),
    }
    store = kinds[request.param]()
    land(store, [1])
    land(store, [2])
    freed.update(objects_in(store, ".singer.gz"))
    vacuum(store, KEYS, VacuumOptions(lock=QUICK))
    return store


def is_file(method: str, key: str) -> bool:
    return method in ("delete", "delete_if") and key.endswith(".singer.gz")


def land_again(store: Store) -> None:
    """The same records once more, by another writer: files of the same times."""
    land(store, [1], times=QUICK)
    land(store, [2], times=QUICK)


def assert_all_there(store: Store) -> None:
    assert_clean(store)
    assert numbers_in(store) == [1, 2, 1, 2]
    assert len(freed) == 2
    assert not freed & set(objects_in(store))


class LosesOneAnswer(Intercepting):
    """Deletes the first Singer file, and does not say so."""

    lost = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        result = call()
        if not self.lost and is_file(method, key):
            self.lost = True
            raise OutcomeUnknown("lost on purpose")
        return result


def test_a_delete_that_is_sent_again_hits_no_file_of_the_same_times(store: Store) -> None:
    def meanwhile(seconds: float) -> None:
        purge(store, KEYS, AT_ONCE)
        land_again(store)

    retrying = Retrying(LosesOneAnswer(store), RetryPolicy(3), sleep=meanwhile)
    purge(retrying, KEYS, AT_ONCE)
    assert_all_there(store)


class Sleeps(Intercepting):
    """Before the first delete of a Singer file, something else happens."""

    def __init__(self, inner: Store, meanwhile: Callable[[Store], object]) -> None:
        super().__init__(inner)
        self._meanwhile = meanwhile
        self.slept = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if not self.slept and is_file(method, key):
            self.slept = True
            self._meanwhile(self.inner)
        return call()


def test_a_purge_that_sleeps_hits_no_file_of_the_same_times(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def meanwhile(inner: Store) -> None:
        assert len(purge(inner, KEYS, AT_ONCE)) == 2
        land_again(inner)

    monkeypatch.setattr("singerlake.lake.purging.in_parallel", map)
    slow = Sleeps(store, meanwhile)
    purge(slow, KEYS, AT_ONCE)
    assert slow.slept
    assert_all_there(store)


def test_a_rebuild_tells_of_files_with_the_times_of_those_it_has_read(store: Store) -> None:
    def meanwhile() -> None:
        assert len(purge(store, KEYS, AT_ONCE)) == 2
        land_again(store)

    # Merges are listed after the files were read, and before the manifest.
    slow = Hooked(store, At("list", "/_merges"), meanwhile)
    rebuild(slow)
    assert slow.happened
    assert_all_there(store)


def test_what_was_replaced_is_removed(store: Store) -> None:
    removed = purge(store, KEYS, AT_ONCE)
    assert len(removed) == 2
    assert not set(removed) & set(objects_in(store))
    assert_clean(store)
    assert numbers_in(store) == [1, 2]
