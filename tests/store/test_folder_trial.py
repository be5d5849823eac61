"""A folder's locks and links are tried, not assumed: by two processes, once for a lake and host."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singerlake.lake import Lake
from singerlake.lake.lake import open_on
from singerlake.lake.lock import LockTimes
from singerlake.store import LocalStore, Promise, Store, folder_trial, probe
from singerlake.store.folder_trial import Kept
from tests.lake.landing import KEYS, numbers_in, options, record_line, schema_line
from tests.store.conformance import StoreContract

SOUND = Kept(locks=True, links=True)
TIMES = LockTimes(settle=0.01)

Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: Patch) -> None:
    monkeypatch.setattr(folder_trial, "_known", {})
    monkeypatch.setattr(probe, "_warned", set())


def locks_nobody(monkeypatch: Patch) -> None:
    """A mount that takes every lock and holds nobody back, as far as this process goes."""
    monkeypatch.setattr(fcntl, "flock", lambda handle, operation: None)


def no_locks(number: int) -> Callable[[Patch], None]:
    """A mount that has no locks."""

    def patch(monkeypatch: Patch) -> None:
        def refuse(handle: int, operation: int) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", refuse)

    return patch


WITHOUT_LOCKS = {
    "no-op": locks_nobody,
    "ENOLCK": no_locks(errno.ENOLCK),
    "ENOSYS": no_locks(errno.ENOSYS),
    "EOPNOTSUPP": no_locks(errno.EOPNOTSUPP),
}
without_locks = pytest.mark.parametrize("patch", WITHOUT_LOCKS.values(), ids=WITHOUT_LOCKS)


def asked(monkeypatch: Patch) -> list[tuple[str, ...]]:
    """What other processes are asked for from now on."""
    found: list[tuple[str, ...]] = []
    ask = folder_trial._ask

    def noted(*arguments: str) -> Any:
        found.append(arguments)
        return ask(*arguments)

    monkeypatch.setattr(folder_trial, "_ask", noted)
    return found


def test_a_sound_folder_is_tried_once_and_the_result_is_kept(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    trials = asked(monkeypatch)
    assert folder_trial.find(tmp_path) == SOUND
    (kept,) = tmp_path.iterdir()
    assert kept.name.startswith("trial-")
    folder_trial._known.clear()  # as in another process
    assert folder_trial.find(tmp_path) == SOUND
    assert len(trials) == 1


def test_another_host_tries_itself(tmp_path: Path, monkeypatch: Patch) -> None:
    trials = asked(monkeypatch)
    folder_trial.find(tmp_path)
    folder_trial._known.clear()
    monkeypatch.setattr(folder_trial.socket, "gethostname", lambda: "../another host")
    folder_trial.find(tmp_path)
    assert len(trials) == 2
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("told", ["", "[]", '{"locks": true}', '{"locks":1,"links":1,"device":-7}'])
def test_what_another_file_system_kept_and_what_is_damaged_tell_nothing(
    tmp_path: Path, monkeypatch: Patch, told: str
) -> None:
    """A lake that is copied to another mount brings its own folder along."""
    folder_trial.find(tmp_path)
    (kept,) = tmp_path.iterdir()
    kept.write_text(told)
    folder_trial._known.clear()
    trials = asked(monkeypatch)
    assert folder_trial.find(tmp_path) == SOUND
    assert len(trials) == 1


@without_locks
def test_locks_that_hold_nobody_are_found(
    tmp_path: Path, monkeypatch: Patch, patch: Callable[[Patch], None]
) -> None:
    patch(monkeypatch)
    assert folder_trial.find(tmp_path) == Kept(locks=False, links=True)


def test_a_link_that_takes_a_name_that_is_taken_is_found(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setattr(folder_trial.rival, "link", lambda source, path: True)  # and links nothing
    assert folder_trial.find(tmp_path) == Kept(locks=True, links=False)


def test_without_another_process_it_is_taken_on_trust_and_said(
    tmp_path: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(folder_trial.sys, "executable", str(tmp_path / "nothing"))
    assert folder_trial.find(tmp_path) == SOUND
    assert "taken on trust" in caplog.text


def test_who_only_reads_tries_nothing(tmp_path: Path, monkeypatch: Patch) -> None:
    store = LocalStore(tmp_path)
    land(store, 1)
    folder_trial._known.clear()
    trials = asked(monkeypatch)
    assert numbers_in(pickle.loads(pickle.dumps(store))) == [1]
    assert trials == []


def land(store: Store, number: int) -> None:
    with open_on(store, create=True).writer(KEYS.tap_id, options=options(TIMES)) as writer:
        writer.write(schema_line())
        writer.write(record_line(number))


class TestWithoutLocks(StoreContract):
    promise = Promise.BEST_EFFORT
    races = False

    @pytest.fixture(params=WITHOUT_LOCKS)
    def store(self, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: Patch) -> Store:
        WITHOUT_LOCKS[request.param](monkeypatch)
        return LocalStore(tmp_path / "lake")

    def settle(self, store: Store, key: str) -> None:
        os.utime(Path(store.url, key), (1e9, 1e9))


class TestWithoutLinksThatHold(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: Patch) -> Store:
        monkeypatch.setattr(folder_trial.rival, "link", lambda source, path: True)
        return LocalStore(tmp_path / "lake")

    def settle(self, store: Store, key: str) -> None:
        os.utime(Path(store.url, key), (1e9, 1e9))


def test_the_weaker_promise_is_said_once(
    tmp_path: Path, monkeypatch: Patch, caplog: pytest.LogCaptureFixture
) -> None:
    locks_nobody(monkeypatch)
    with caplog.at_level(logging.WARNING, "singerlake.store"):
        for number in (1, 2):
            land(LocalStore(tmp_path), number)
    (message,) = caplog.messages
    assert "does not keep conditional writes (the locks of its file system do not hold" in message
    assert "docs/spec.md#weak-stores" in message


class Overtaken(LocalStore):
    """Where another process, which no lock held back, replaces the manifest right after us."""

    other: Path

    def replace(self, key: str, data: bytes, version: str) -> str:
        made = super().replace(key, data, version)
        if key == KEYS.manifest and self.other.exists():
            shutil.copytree(self.other / "raw", Path(self.url, "raw"), dirs_exist_ok=True)
            shutil.rmtree(self.other)
        return made


def both_commit(tmp_path: Path) -> list[int]:
    """Commit 1; then 2 and 3 at once, each on the manifest that has 1 only."""
    lake, copy = tmp_path / "lake", tmp_path / "copy"
    land(LocalStore(lake), 1)
    shutil.copytree(lake, copy)
    land(LocalStore(copy), 2)
    store = Overtaken(lake)
    store.other = copy
    land(store, 3)
    return sorted(numbers_in(Lake(LocalStore(lake)).store))


@without_locks
def test_a_commit_that_no_lock_guarded_is_looked_at_again(
    tmp_path: Path, monkeypatch: Patch, patch: Callable[[Patch], None]
) -> None:
    patch(monkeypatch)
    assert both_commit(tmp_path) == [1, 2, 3]


def test_control_where_locks_are_assumed_it_is_lost(tmp_path: Path, monkeypatch: Patch) -> None:
    monkeypatch.setattr(folder_trial, "find", lambda folder: SOUND)
    assert both_commit(tmp_path) == [1, 2]


def test_a_process_that_does_not_end_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: Patch
) -> None:
    def hang(*arguments: Any, timeout: float, **others: Any) -> Any:
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(folder_trial.subprocess, "run", hang)
    assert folder_trial.find(tmp_path) == SOUND
