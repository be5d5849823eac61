"""Merging what is landed, and purging what that replaced."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

from singerlake.lake.vacuum import VacuumOptions, purge, vacuum
from singerlake.store import MemoryStore, Store
from tests.lake.faulty_store import MANIFEST_REPLACE, Intercepting, Result
from tests.lake.landing import KEYS, PATIENT, land_each, new_store

OPTIONS = VacuumOptions(lock=PATIENT)
AT_ONCE = timedelta(0)


def purge_at_once(store: Store) -> list[str]:
    return purge(store, KEYS, AT_ONCE, abandoned=AT_ONCE)


def merged_lake(*numbers: int) -> MemoryStore:
    """A commit for each record, then a vacuum: one file, and those it replaced."""
    store = new_store()
    land_each(store, numbers)
    vacuum(store, KEYS, OPTIONS)
    return store


class BeforeTheCommit(Intercepting):
    """Does something right before the first manifest is replaced."""

    def __init__(self, inner: Store, hook: Callable[[Store], object]) -> None:
        super().__init__(inner)
        self._hook = hook
        self.happened = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if not self.happened and MANIFEST_REPLACE(method, key):
            self.happened = True
            self._hook(self.inner)
        return call()
