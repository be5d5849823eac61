"""Races by processes, and hosts that meet: what only several can tell of a store."""

from __future__ import annotations

import fcntl
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from singerlake.errors import StoreError
from singerlake.store import (
    LocalStore,
    MemoryStore,
    Store,
    StoreWrapper,
    folder_trial,
    open_store,
    trial,
)
from singerlake.store.meeting import KEY, Guest, Lost
from singerlake.store.race import Race, processes
from tests.servers import S3Server


def at(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Store:
    if kind == "local":
        return LocalStore(tmp_path / "lake")
    server: S3Server = request.getfixturevalue("seaweedfs")
    return open_store(f"s3://{server.new_bucket()}/lake", server.storage_options())


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_of_processes_that_race_one_wins(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = at(kind, tmp_path, request)
    found = {answer.what: answer for answer in trial(store, rounds=2, processes=3)}
    assert {answer.status for answer in found.values()} == {"ok"}
    assert found["race to replace"].told == "of 3 processes one wins, 2 times"
    assert list(store.list("")) == []


class Careless(StoreWrapper):
    """Overwrites whatever is there, as a server does that ignores conditions."""

    def create(self, key: str, data: bytes | Path) -> str:
        self.inner.delete(key)
        return self.inner.create(key, data)


def test_control_processes_that_all_win_are_counted(tmp_path: Path) -> None:
    with processes(Careless(LocalStore(tmp_path)), 1) as compete:
        assert [compete(Race("a")), compete(Race("a"))] == [1, 1]
    with processes(LocalStore(tmp_path), 1) as compete:
        assert compete(Race("a")) == 0


def test_a_race_that_fails_says_why(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("in the way")
    with processes(LocalStore(tmp_path), 2) as compete, pytest.raises(StoreError, match="a"):
        compete(Race("a/b"))


@pytest.mark.parametrize("kind", ["local", "s3"])
def test_hosts_that_meet_lose_nothing_and_leave_nothing(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = at(kind, tmp_path, request)
    guests = [Guest(store), Guest(store)]
    for guest in guests:
        guest.write()

    def write_five(guest: Guest) -> None:
        while guest.mine < 5:
            guest.write()
        guest.leave()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(write_five, guests))
    assert all(len(guest.others) == 1 for guest in guests)
    assert list(store.list("")) == []


def test_who_is_alone_meets_nobody(tmp_path: Path) -> None:
    mine, others = Guest(LocalStore(tmp_path)).meet(0.2)
    assert mine
    assert others == 0


class Slow(LocalStore):
    """Where another host writes between what a lock should keep together."""

    other: Guest

    def replace(self, key: str, data: bytes, version: str) -> str:
        self.other.write()
        return super().replace(key, data, self.version(key))


def test_control_a_write_that_is_overwritten_unseen_is_found(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    slow.other = Guest(LocalStore(tmp_path))
    guest = Guest(slow)
    slow.other.write()
    guest.write()
    with pytest.raises(Lost, match="of 2 writes of this host 1 are there"):
        slow.other.write()
    assert LocalStore(tmp_path).read(KEY)


def test_doctor_tries_locks_anew_whatever_was_found_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_trial, "_known", {})
    store = LocalStore(tmp_path)
    assert store.oddities() == []
    monkeypatch.setattr(fcntl, "flock", lambda handle, operation: None)
    (told,) = LocalStore(tmp_path).oddities()
    assert "do not hold between processes" in told
    monkeypatch.undo()
    assert MemoryStore(uuid.uuid4().hex).oddities() == []
