"""A trial tells a store that keeps its promises from one that does not."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.errors import NotFound, PermissionDenied
from singerlake.store import (
    Listed,
    LocalStore,
    MemoryStore,
    Promise,
    Store,
    StoreWrapper,
    open_store,
    trial,
)
from tests.servers import S3Server


def statuses(store: Store) -> dict[str, str]:
    return {answer.what: answer.status for answer in trial(store, rounds=2)}


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


@pytest.mark.parametrize("kind", ["memory", "local"])
def test_a_sound_store_passes_and_keeps_nothing_of_the_trial(kind: str, tmp_path: Path) -> None:
    store: Store = LocalStore(tmp_path) if kind == "local" else MemoryStore(uuid.uuid4().hex)
    store.create("raw/mine", b"")
    assert set(statuses(store).values()) == {"ok"}
    assert [row.key for row in store.list("")] == ["raw/mine"]


def test_a_real_server_passes(seaweedfs: S3Server) -> None:
    store = open_store(f"s3://{seaweedfs.new_bucket()}/lake", seaweedfs.storage_options())
    assert set(statuses(store).values()) == {"ok"}


class Careless(StoreWrapper):
    """Overwrites whatever is there, as a server does that ignores conditions."""

    promised = Promise.CONDITIONAL

    def promise(self) -> Promise:
        return self.promised

    def create(self, key: str, data: bytes | Path) -> str:
        self.inner.delete(key)
        return self.inner.create(key, data)

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self.create(key, data)

    def delete_if(self, key: str, version: str) -> None:
        self.inner.delete(key)


class CarelessAtOnce(Careless):
    """Refuses what it sees in time: alone it looks sound, and in a race all win."""

    def create(self, key: str, data: bytes | Path) -> str:
        if "race" not in key:
            return self.inner.create(key, data)
        return "made"

    def replace(self, key: str, data: bytes, version: str) -> str:
        return "made" if b"racer" in data else self.inner.replace(key, data, version)

    def delete_if(self, key: str, version: str) -> None:
        self.inner.delete_if(key, version)


def test_ignored_conditions_are_found(memory: MemoryStore) -> None:
    found = statuses(Careless(memory))
    assert {what for what, status in found.items() if status == "failed"} >= {
        "create if absent",
        "replace if unchanged",
        "delete if unchanged",
    }


def test_a_race_shows_what_a_look_does_not(memory: MemoryStore) -> None:
    store = CarelessAtOnce(memory)
    found = {answer.what: answer for answer in trial(store)}
    failed = {what for what, answer in found.items() if answer.status == "failed"}
    assert failed == {"race to create", "race to replace"}
    assert found["race to create"].told.startswith("8 of 8 threads")


def test_a_lost_race_is_no_news_where_the_store_promises_less(memory: MemoryStore) -> None:
    store = CarelessAtOnce(memory)
    store.promised = Promise.BEST_EFFORT
    found = statuses(store)
    assert (found["race to create"], found["race to replace"]) == ("weak", "weak")


class Skewed(StoreWrapper):
    ahead = timedelta(0)

    def list(self, prefix: str) -> Iterator[Listed]:
        for row in self.inner.list(prefix):
            yield replace(row, modified=row.modified + self.ahead)


@pytest.mark.parametrize(
    ("ahead", "says"), [(60, "60 s ahead of ours"), (-3600, "s behind ours"), (3, "agree")]
)
def test_clocks_that_differ_are_found(memory: MemoryStore, ahead: int, says: str) -> None:
    store = Skewed(memory)
    store.ahead = timedelta(seconds=ahead)
    [clock] = [answer for answer in trial(store, rounds=1) if answer.what == "clock"]
    assert says in clock.told
    assert clock.status == ("ok" if says == "agree" else "failed")


class ReadOnly(StoreWrapper):
    def create(self, key: str, data: bytes | Path) -> str:
        raise PermissionDenied("not yours")


class Forgetful(StoreWrapper):
    def read(self, key: str):  # type: ignore[no-untyped-def]
        raise NotFound(key)

    def list(self, prefix: str) -> Iterator[Listed]:
        return iter(())


def test_a_store_that_may_not_be_written_ends_the_trial(memory: MemoryStore) -> None:
    [answer] = trial(ReadOnly(memory))
    assert (answer.what, answer.status, answer.told) == ("write", "failed", "not yours")


def test_what_cannot_be_read_or_listed_is_found(memory: MemoryStore) -> None:
    found = statuses(Forgetful(memory))
    assert (found["read back"], found["list"]) == ("failed", "failed")
