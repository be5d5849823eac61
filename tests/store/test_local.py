"""A folder on a disk."""

from __future__ import annotations

import errno
import hashlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from singerlake.errors import (
    AlreadyExists,
    BadName,
    Changed,
    NotFound,
    PermissionDenied,
    StoreError,
    Unavailable,
)
from singerlake.store import Finished, LocalStore, Store, Stored, disk, folder_trial, local
from singerlake.store.folder_trial import Kept
from tests.nobody import run_as_nobody
from tests.store.conformance import StoreContract


def failing(number: int) -> Any:
    def call(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number), str(args[-1]))

    return call


class LocalContract(StoreContract):
    def settle(self, store: Store, key: str) -> None:
        made_older(Path(store.url, key))


def made_older(path: Path, seconds: float = 10.0) -> None:
    moment = time.time() - seconds
    os.utime(path, (moment, moment))


class TestLocalStore(LocalContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return LocalStore(tmp_path / "not" / "yet")


class TestWithoutHardLinks(LocalContract):
    @pytest.fixture
    def store(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
        return LocalStore(tmp_path / "lake")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


@pytest.fixture
def store(root: Path) -> LocalStore:
    return LocalStore(root)


def test_reading_makes_nothing(store: Store, root: Path) -> None:
    with pytest.raises(NotFound):
        store.read("a")
    with pytest.raises(NotFound):
        store.open("a")
    with pytest.raises(Changed):
        store.replace("a", b"", "version")
    with pytest.raises(Changed):
        store.delete_if("a", "version")
    store.delete("a")
    assert [*store.list("")] == []
    assert store.folders("") == []
    assert store.sweep(timedelta(), "") == 0
    assert not root.exists()


def test_leaves_no_temporary_file(store: Store, root: Path) -> None:
    version = store.create("a", b"1")
    with pytest.raises(AlreadyExists):
        store.create("a", b"2")
    store.replace("a", b"2", version)
    store.delete("a")
    assert sorted(path.name for path in root.rglob("*")) == [".singerlake-tmp", "lock"]


def test_prunes_folders_that_a_delete_empties(store: Store, root: Path) -> None:
    store.create("a/b/c/d", b"1")
    version = store.create("a/e", b"1")
    store.delete("a/b/c/d")
    assert store.folders("a") == []
    store.delete_if("a/e", version)
    assert store.folders("") == []
    assert root.is_dir()


def test_its_own_folder_is_no_key(store: Store) -> None:
    with pytest.raises(BadName):
        store.create(".singerlake-tmp/lock", b"")


def test_a_file_cannot_be_a_folder_too(store: Store) -> None:
    store.create("a", b"1")
    with pytest.raises(StoreError, match="cannot be a folder"):
        store.create("a/b/c", b"2")
    assert store.read("a").data == b"1"


def test_sweeps_old_temporary_files(store: Store, root: Path) -> None:
    version = store.create("a", b"1")
    store.replace("a", b"2", version)
    old, new = root / ".singerlake-tmp/old", root / ".singerlake-tmp/new"
    old.touch()
    new.touch()
    os.utime(old, (time.time() - 7200,) * 2)
    assert store.sweep(timedelta(hours=1), "") == 1
    assert not old.exists()
    assert new.exists()


def test_sweeping_leaves_folders_alone(store: Store, root: Path) -> None:
    """They are of writers, which may live for days."""
    store.create("a", b"1")
    spool = root / ".singerlake-tmp" / "singerlake-x"
    (spool / "files").mkdir(parents=True)
    made_older(spool, 7200)
    assert store.sweep(timedelta(hours=1), "") == 0
    assert (spool / "files").is_dir()


def spooled(store: LocalStore, data: bytes = b"finished") -> Finished:
    folder = store.spool_folder()
    assert folder is not None
    path = folder / "singerlake-x" / "1"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(data)
    return Finished(path, hashlib.sha256(data).hexdigest())


def test_a_finished_file_in_the_spool_folder_becomes_the_object(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []

    def noted(name: str, real: Callable[..., None]) -> Callable[..., None]:
        return lambda *rest: steps.append(name) or real(*rest)

    for name in ("sync_file", "link_new", "sync_folder"):
        monkeypatch.setattr(disk, name, noted(name, getattr(disk, name)))
    finished = spooled(store)
    (root / "a").mkdir()
    steps.clear()
    version = store.create("a/b", finished)
    assert steps == ["sync_file", "link_new", "sync_folder"]
    assert (root / "a" / "b").samefile(finished.path)
    finished.path.unlink()
    assert store.read("a/b") == Stored(b"finished", version)
    assert store.replace("a/b", b"2", version)


def test_a_finished_file_takes_no_name_that_is_taken(store: LocalStore) -> None:
    store.create("a", b"1")
    finished = spooled(store)
    with pytest.raises(AlreadyExists):
        store.create("a", finished)
    assert store.read("a").data == b"1"
    assert finished.path.read_bytes() == b"finished"


@pytest.mark.parametrize("number", [errno.EPERM, errno.EXDEV])
def test_a_finished_file_that_cannot_be_linked_is_copied(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    finished = spooled(store)
    monkeypatch.setattr(os, "link", failing(number))
    version = store.create("a", finished)
    assert store.read("a") == Stored(b"finished", version)
    assert not (root / "a").samefile(finished.path)


def test_a_finished_file_elsewhere_is_copied(store: LocalStore, root: Path, tmp_path: Path) -> None:
    path = tmp_path / "finished"
    path.write_bytes(b"finished")
    store.create("a", Finished(path, hashlib.sha256(b"finished").hexdigest()))
    assert (root / "a").read_bytes() == b"finished"
    assert not (root / "a").samefile(path)


@pytest.mark.parametrize("kept", [Kept(locks=False, links=True), Kept(locks=True, links=False)])
def test_a_folder_whose_locks_or_links_do_not_hold_gathers_no_files(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch, kept: Kept
) -> None:
    """Without locks nobody could tell what a killed process left there."""
    monkeypatch.setattr(folder_trial, "find", lambda folder: kept)
    assert store.spool_folder() is None


def test_a_folder_that_cannot_be_written_gathers_no_files(
    store: LocalStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "mkdir", failing(errno.EROFS))
    assert store.spool_folder() is None


def test_a_lock_is_not_flushed_and_the_folder_that_it_makes_is(
    store: LocalStore, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.create("a", b"1")
    files, folders = list[int](), list[Path]()
    monkeypatch.setattr(os, "fsync", files.append)
    monkeypatch.setattr(disk, "sync_folder", folders.append)
    version = store.create("b/x.lock", b"1")
    version = store.replace("b/x.lock", b"2", version)
    store.delete_if("b/x.lock", version)
    assert (files, folders) == ([], [root])


def test_lists_folders_deeper_than_the_stack_of_python(store: Store, root: Path) -> None:
    depth = sys.getrecursionlimit() + 200
    store.create("a/z", b"1")
    here = os.open(root / "a", os.O_RDONLY)
    for _ in range(depth):
        os.mkdir("b", dir_fd=here)
        above, here = here, os.open("b", os.O_RDONLY, dir_fd=here)
        os.close(above)
    os.close(os.open("x", os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)
    try:
        assert [row.key for row in store.list("a")] == [f"a/{'b/' * depth}x", "a/z"]
    finally:
        # Neither can pytest remove so deep a folder.
        subprocess.run(["rm", "-r", str(root / "a" / "b")], check=True)


@pytest.mark.parametrize(("seconds", "year"), [(10**12, 9999), (-(10**12), 1970), (0, 1970)])
def test_lists_a_file_whose_time_no_calendar_has(
    store: Store, monkeypatch: pytest.MonkeyPatch, seconds: int, year: int
) -> None:
    # A stand-in, because not every file system keeps such a time.
    file = SimpleNamespace(st_size=1, st_mtime=float(seconds), st_mtime_ns=seconds * 10**9)
    entry = SimpleNamespace(name="a", is_dir=lambda: False, stat=lambda: file)
    monkeypatch.setattr(disk, "entries", lambda folder: [entry])
    (row,) = store.list("")
    assert (row.key, row.size, row.modified.year) == ("a", 1, year)


def test_creates_while_its_folder_is_pruned(store: Store) -> None:
    """Creating and deleting in one deep folder, so that it is pruned all the time."""

    def work(number: int) -> None:
        for turn in range(100):
            key = f"a/b/c/{number}-{turn}"
            store.create(key, b"1")
            store.delete(key)

    with ThreadPoolExecutor(6) as pool:
        for future in [pool.submit(work, number) for number in range(6)]:
            future.result()
    assert store.folders("") == []


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS])
def test_no_permission(store: Store, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    # By a stand-in, because tests may run as root, whom nothing is forbidden.
    monkeypatch.setattr(os, "link", failing(number))
    with pytest.raises(PermissionDenied, match="a/b"):
        store.create("a/b", b"1")
    assert [*store.list("")] == []


EVERY_CALL = """
import sys
from pathlib import Path
from singerlake.errors import SingerlakeError
from singerlake.store import LocalStore
store = LocalStore(Path(sys.argv[1]))
calls = {
    "create": lambda: store.create("a", b"1"),
    "replace": lambda: store.replace("a", b"1", "version"),
    "delete": lambda: store.delete("a"),
    "delete_if": lambda: store.delete_if("a", "version"),
    "read": lambda: store.read("a"),
    "version": lambda: store.version("a"),
    "open": lambda: store.open("a"),
    "folders": lambda: store.folders(""),
    "list": lambda: [*store.list("")],
}
"""
TELL_ERRORS = """
for name, call in calls.items():
    try:
        call()
    except SingerlakeError as error:
        print(name, type(error).__name__, str(error)[:17])
"""


def test_in_a_folder_that_cannot_be_entered_every_call_says_so(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    done = run_as_nobody(EVERY_CALL, TELL_ERRORS, closed / "lake")
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines())
    assert told == dict.fromkeys(
        ("create", "replace", "delete", "delete_if", "read", "version", "open", "folders", "list"),
        "PermissionDenied no permission for",
    ), done.stderr


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk(store: Store, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(os, "fsync", failing(number))
    with pytest.raises(StoreError, match="full"):
        store.create("a", b"1")


def test_a_broken_disk(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.create("a", b"1")
    monkeypatch.setattr(os, "open", failing(errno.EIO))
    with pytest.raises(StoreError, match="Input/output error"):
        store.read("a")


def test_another_file_system_mounted_below_the_root(
    store: Store, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    version = store.create("a", b"1")

    def refuse(source: Path, target: Path) -> None:
        number = errno.EXDEV
        raise OSError(number, os.strerror(number), str(source), None, str(target))

    monkeypatch.setattr(os, "link", refuse)
    monkeypatch.setattr(Path, "replace", refuse)
    for write in (lambda: store.create("b", b"1"), lambda: store.replace("a", b"2", version)):
        with pytest.raises(StoreError, match="is on another file system") as caught:
            write()
        assert ".singerlake-tmp" not in str(caught.value)
        assert str(root) in str(caught.value)


def test_links_pipes_and_what_is_behind_them_are_not_in_the_store(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "root")
    store.create("a/b", b"1")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x").write_bytes(b"others'")
    (tmp_path / "root" / "link").symlink_to(outside)
    (tmp_path / "root" / "a" / "x").symlink_to(outside / "x")
    (tmp_path / "root" / "a" / "gone").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "root" / "a" / "pipe")
    for key in ("link/x", "a/x", "a/gone", "a/pipe"):
        for read in (store.read, store.open, store.version):
            with pytest.raises(NotFound, match=key):
                read(key)
        for write in (
            lambda key=key: store.create(key, b"2"),
            lambda key=key: store.replace(key, b"2", ""),
            lambda key=key: store.delete(key),
            lambda key=key: store.delete_if(key, ""),
        ):
            with pytest.raises(StoreError, match="has none"):
                write()
    assert [row.key for row in store.list("")] == ["a/b"]
    assert store.folders("") == ["a"]
    assert [*store.list("link")] == store.folders("link") == []
    assert (outside / "x").read_bytes() == b"others'"


def test_a_known_file_is_not_found_behind_a_link(tmp_path: Path) -> None:
    store = LocalStore(tmp_path / "root")
    store.create("a/b/c", b"1")
    os.utime(tmp_path / "root" / "a" / "b" / "c", (1e9, 1e9))
    found = store.read_if_changed("a/b/c", "")
    assert found is not None
    assert store.read_if_changed("a/b/c", found[1]) is None
    (tmp_path / "root" / "a").rename(tmp_path / "elsewhere")
    (tmp_path / "root" / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(NotFound, match="a is a symbolic link"):
        store.read_if_changed("a/b/c", found[1])


def test_the_root_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "root").symlink_to(tmp_path / "disk")
    store = LocalStore(tmp_path / "root")
    store.create("a/b", b"1")
    assert store.read("a/b").data == b"1"
    assert (tmp_path / "disk" / "a" / "b").read_bytes() == b"1"


def test_a_name_that_is_too_long(store: Store) -> None:
    with pytest.raises(BadName, match="longer"):
        store.create("x" * 300, b"")


@pytest.mark.parametrize("error", [FileNotFoundError, NotADirectoryError])
def test_a_file_system_that_makes_no_folders_is_an_error_and_no_endless_loop(
    store: Store, monkeypatch: pytest.MonkeyPatch, error: type[OSError]
) -> None:
    """/proc answers that a file is missing where a folder cannot be made."""
    tries = 0

    def refuse(path: Path, *args: object, **kwargs: object) -> None:
        nonlocal tries
        tries += 1
        assert tries < 100_000, "it never gives up"
        raise error(errno.ENOENT, "No such file or directory", str(path))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(NotFound, match="lake"):
        store.create("a", b"1")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here")
def test_a_lake_below_proc_is_refused() -> None:
    with pytest.raises((NotFound, PermissionDenied, StoreError), match="/proc/lake"):
        LocalStore(Path("/proc/lake")).create("a", b"1")


def test_a_lock_that_is_never_released(store: LocalStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local, "_LOCK_SECONDS", 0.05)
    version = store.create("a", b"1")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store._locked():
            held.set()
            done.wait(10)

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait(10)
    try:
        with pytest.raises(Unavailable, match="locked"):
            store.replace("a", b"2", version)
    finally:
        done.set()
        thread.join()
    store.replace("a", b"2", version)


def test_a_file_system_that_never_links_is_an_error(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a stand-in: the folder is there, and the system says that it is not."""

    monkeypatch.setattr(os, "link", failing(errno.ENOENT))
    with pytest.raises(StoreError):
        store.create("a/b", b"1")


def test_a_fresh_file_has_no_validator(store: LocalStore, root: Path) -> None:
    """Two changes in one tick of the clock can leave size, time and inode as they were."""
    store.create("a", b"1")
    assert store.read_if_changed("a", "") == (store.read("a"), "")
    made_older(root / "a", disk.SETTLED + 1)
    found = store.read_if_changed("a", "")
    assert found is not None
    assert found[1]
    made_older(root / "a", -3600)  # a clock that was set back: the file is from the future
    assert store.read_if_changed("a", found[1]) == (store.read("a"), "")


def test_a_validator_is_no_version(store: LocalStore, root: Path) -> None:
    store.create("a", b"1")
    made_older(root / "a")
    found = store.read_if_changed("a", "")
    assert found is not None
    with pytest.raises(Changed):
        store.replace("a", b"2", found[1])
