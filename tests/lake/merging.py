"""Merging what is landed, and purging what that replaced."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest

from singerlake.lake import Stream
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.increment import Increment
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
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


def overtake(patch: pytest.MonkeyPatch, store: Store, times: int) -> list[int]:
    """Merge what was merged, and purge it, right after a reader has taken an increment; the first
    so many times. Returns a list to which each increment adds a number."""
    real, taken = Stream.increment, []

    def increment(
        stream: Stream, since: Bookmark | None = None, until: Bookmark | None = None
    ) -> Increment:
        found = real(stream, since, until)
        taken.append(len(taken) + 1)
        if len(taken) <= times:
            land_each(store, range(100, 110))
            vacuum(store, KEYS, OPTIONS)
            purge_at_once(store)
        return found

    patch.setattr(Stream, "increment", increment)
    return taken


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
