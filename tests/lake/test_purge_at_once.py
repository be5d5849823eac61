"""A purge without any grace: what is being committed, or was committed, is never what it deletes.

A grace is for readers alone. What keeps writers is that a name ends in digits of the file's hash:
no file that is about to come has the name of one that goes, whenever it comes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from unittest import mock

import pytest

from singerlake.errors import DamageError, StaleSnapshot
from singerlake.lake import Lake
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import LocalStore, MemoryStore, Store, disk
from tests.lake.faulty_store import Intercepting, Result
from tests.lake.landing import KEYS, QUICK, assert_clean, land, numbers_in, objects_in, older_names

AT_ONCE = timedelta(0)
OPTIONS = VacuumOptions(lock=QUICK)


def purge_all(store: Store) -> None:
    """As `singerlake vacuum --purge --grace 0 --apply` does it."""
    purge(store, KEYS, AT_ONCE)


def merge_and_purge(store: Store) -> None:
    vacuum(store, KEYS, OPTIONS)
    purge_all(store)


def merged(store: Store) -> Store:
    """Two files, the one that stands for them, and nothing purged yet."""
    land(store, [1])
    land(store, [2])
    vacuum(store, KEYS, OPTIONS)
    return store


def land_the_same(store: Store) -> None:
    """Records with the times of those that were merged, by another writer."""
    land(store, [1], times=QUICK)


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


def each_moment(
    prepared: Callable[[], Store], work: Callable[[Store], object], meanwhile: Callable[..., object]
) -> int:
    """Between any two requests of the work something else happens; returns how often it could."""
    for number in range(1, 200):
        store = prepared()
        beside = AtRequest(store, number, meanwhile)
        work(beside)
        if not beside.happened:
            return number - 1
        assert_clean(store)
        assert sorted(numbers_in(store)) == [1, 1, 2]
    raise AssertionError("it has more requests than that")


def in_memory() -> Store:
    return merged(MemoryStore(uuid.uuid4().hex))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("meanwhile", [purge_all, merge_and_purge])
def test_at_any_moment_of_a_commit(meanwhile: Callable[[Store], object]) -> None:
    assert each_moment(in_memory, land_the_same, meanwhile) > 8


@pytest.mark.timeout(300)
def test_a_commit_at_any_moment_of_it() -> None:
    with mock.patch("singerlake.lake.purging.in_parallel", map):
        assert each_moment(in_memory, purge_all, land_the_same) > 5


def test_a_writer_that_sleeps_before_it_links(tmp_path: Path) -> None:
    """The file is written beside the lake's folders, and has no name there yet."""
    store, slept, link = merged(LocalStore(tmp_path)), [], disk.link_new

    def slow(temporary: Path, path: Path, durable: bool = True) -> None:
        if path.name.endswith(".singer.gz"):
            slept.append(path)
            merge_and_purge(LocalStore(tmp_path))
        link(temporary, path, durable)

    before = set(objects_in(store, ".singer.gz"))
    with mock.patch.object(disk, "link_new", slow):
        land_the_same(store)
    assert slept
    assert len(before - set(objects_in(store))) == 2, "what was replaced is gone"
    assert_clean(store)
    assert sorted(numbers_in(store)) == [1, 1, 2]


def test_the_control_with_names_that_come_again() -> None:
    """A purge takes the file of a writer, between its look at the name and its delete, where names
    are times alone, as they once were."""
    with (
        older_names(),
        mock.patch("singerlake.lake.purging.in_parallel", map),
        pytest.raises((AssertionError, DamageError)),
    ):
        each_moment(in_memory, purge_all, land_the_same)


def test_a_reader_that_is_overtaken_says_so() -> None:
    """The grace is for it; without one it has to begin again, and gets nothing wrong."""
    store = in_memory()
    held = Lake(store).stream(KEYS.tap_id, KEYS.stream).snapshot()
    land(store, [3])
    vacuum(store, KEYS, OPTIONS)
    purge_all(store)
    with pytest.raises(StaleSnapshot, match="run it again"):
        list(held.records())
    assert numbers_in(store) == [1, 2, 3]
