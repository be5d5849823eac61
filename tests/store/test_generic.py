"""File systems of fsspec: its own memory one, and its local one as one that is not atomic."""

from __future__ import annotations

import logging
import sys
import uuid
from datetime import timedelta
from pathlib import Path
from typing import Any

import fsspec.implementations.local
import fsspec.implementations.memory
import pytest

from singerlake.errors import (
    BadLocation,
    NotFound,
    OutcomeUnknown,
    PermissionDenied,
    StoreError,
    Unavailable,
)
from singerlake.store import Promise, Store
from singerlake.store.generic import FsspecStore
from tests.store.conformance import StoreContract

MEMORY = fsspec.implementations.memory.MemoryFileSystem
LOCAL = fsspec.implementations.local.LocalFileSystem


class TestFsspecStore(StoreContract):
    promise = Promise.BEST_EFFORT
    races = False

    @pytest.fixture
    def store(self) -> Store:
        return FsspecStore(f"memory://{uuid.uuid4().hex}/lake")


class TestWrittenAside(StoreContract):
    promise = Promise.BEST_EFFORT
    races = False

    @pytest.fixture
    def store(self, tmp_path: Path) -> Store:
        return FsspecStore(f"file://{tmp_path}/lake")


@pytest.fixture
def store() -> FsspecStore:
    return FsspecStore(f"memory://{uuid.uuid4().hex}")


def test_says_the_weaker_promise_once(store: FsspecStore, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "singerlake.store"):
        assert [*store.list("")] == []
        assert caplog.messages == []
        version = store.create("a", b"1")
        store.replace("a", b"2", version)
        FsspecStore(store.url).create("b", b"1")
    (message,) = caplog.messages
    assert store.url in message
    assert "docs/spec.md#weak-stores" in message


class HttpError(Exception):
    def __init__(self, code: int) -> None:
        super().__init__(f"HTTP {code}")
        self.code = code


@pytest.mark.parametrize(
    ("raised", "reading", "writing"),
    [
        (FileNotFoundError("x"), NotFound, NotFound),
        (PermissionError("x"), PermissionDenied, PermissionDenied),
        (TimeoutError("x"), Unavailable, OutcomeUnknown),
        (ConnectionResetError("x"), Unavailable, OutcomeUnknown),
        (HttpError(503), Unavailable, OutcomeUnknown),
        (HttpError(403), PermissionDenied, PermissionDenied),
        (OSError("x"), StoreError, StoreError),
    ],
)
def test_explains_errors(
    store: FsspecStore,
    monkeypatch: pytest.MonkeyPatch,
    raised: Exception,
    reading: type[Exception],
    writing: type[Exception],
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise raised

    monkeypatch.setattr(MEMORY, "cat_file", fail)
    monkeypatch.setattr(MEMORY, "pipe_file", fail)
    with pytest.raises(reading, match=store.url) as caught:
        store.read("a")
    assert caught.type is reading
    with pytest.raises(writing) as caught:
        store.create("a", b"1")
    assert caught.type is writing


def test_an_error_is_not_taken_for_absence(
    store: FsspecStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """fsspec's `exists` is False after any error; a create must not overwrite then."""
    store.create("a", b"1")

    def fail(*args: Any, **kwargs: Any) -> None:
        raise TimeoutError

    monkeypatch.setattr(MEMORY, "info", fail)
    with pytest.raises(Unavailable):
        store.create("a", b"2")
    assert store.read("a").data == b"1"


def test_sweeps_what_was_written_aside(tmp_path: Path) -> None:
    store = FsspecStore(f"file://{tmp_path}")
    left = tmp_path / ".singerlake-tmp/left"
    left.parent.mkdir()
    left.touch()
    assert store.sweep(timedelta(hours=1), "") == 0
    assert store.sweep(timedelta(seconds=-10), "") == 1
    assert not left.exists()


def test_does_not_sweep_what_has_no_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be in the middle of being written."""
    find = LOCAL.find

    def find_without_times(*args: Any, **kwargs: Any) -> dict[str, Any]:
        found = find(*args, **kwargs)
        return {path: {"size": info["size"], "type": "file"} for path, info in found.items()}

    monkeypatch.setattr(LOCAL, "find", find_without_times)
    store = FsspecStore(f"file://{tmp_path}")
    left = tmp_path / ".singerlake-tmp/left"
    left.parent.mkdir()
    left.touch()
    assert store.sweep(timedelta(hours=1), "") == 0
    assert left.exists()


def test_a_file_system_that_does_not_replace_by_renaming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """WebHDFS answers that it did nothing, and fsspec does not look at the answer."""
    move = LOCAL.mv

    def move_to_new(self: Any, path: str, target: str, **kwargs: Any) -> None:
        if not Path(target).exists():
            move(self, path, target, **kwargs)

    monkeypatch.setattr(LOCAL, "mv", move_to_new)
    store = FsspecStore(f"file://{tmp_path}")
    version = store.create("a", b"1")
    with pytest.raises(StoreError, match=r"/a is not written.*does not replace"):
        store.replace("a", b"2", version)
    assert store.read("a").data == b"1"
    assert [*(tmp_path / ".singerlake-tmp").iterdir()] == []


@pytest.mark.parametrize("password", ["geheim[sesam]x", "ge\u2100heim"])
def test_a_url_that_cannot_be_split_never_shows_its_password(password: str) -> None:
    store = FsspecStore(f"ftp://bob:{password}@127.0.0.1:9/p")
    # Python 3.10 splits the first, and then nobody is there.
    splits = sys.version_info < (3, 11) and "[" in password
    with pytest.raises(StoreError if splits else BadLocation) as caught:
        store.read("a")
    assert splits or "ValueError" in str(caught.value)
    told = str(caught.value) + store.url
    assert not [piece for piece in ("sesam", "geheim", "heim", "bob") if piece in told]


def test_bad_options_never_show_a_secret() -> None:
    store = FsspecStore("ftp://user:hunter2@", {"password": "hunter3", "no_such_option": 1})
    with pytest.raises(BadLocation) as caught:
        store.read("a")
    assert "hunter" not in str(caught.value) + store.url


def test_a_time_that_no_calendar_has_is_the_last_that_one_has(
    store: FsspecStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find(_: Any, path: str, **__: Any) -> dict[str, Any]:
        return {f"{path}/a": {"size": 1, "mtime": 1e18}}

    store.create("a", b"1")
    monkeypatch.setattr(MEMORY, "find", find)
    [row] = store.list("")
    assert row.modified.year == 9999


@pytest.mark.parametrize(
    ("raised", "expected"),
    [(PermissionError("no"), PermissionDenied), (ConnectionResetError("gone"), Unavailable)],
)
def test_a_folder_that_cannot_be_listed_is_an_error_not_an_empty_one(
    raised: Exception, expected: type[StoreError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FsspecStore(f"file://{tmp_path}/lake")
    for key in ("raw/a/1", "raw/b/c/2"):
        store.create(key, b"x")
    ls = LOCAL.ls

    def failing(self: Any, path: str, *args: Any, **kwargs: Any) -> Any:
        if path.endswith("raw/b"):
            raise raised
        return ls(self, path, *args, **kwargs)

    assert [row.key for row in store.list("raw")] == ["raw/a/1", "raw/b/c/2"]
    monkeypatch.setattr(LOCAL, "ls", failing)
    with pytest.raises(expected):
        list(store.list("raw"))


@pytest.mark.parametrize("raised", [EOFError("x"), OSError("Socket is closed")])
def test_a_connection_that_was_cut_is_made_anew(
    raised: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FsspecStore(f"file://{tmp_path}/lake")
    store.create("a", b"1")
    cat_file, cut = LOCAL.cat_file, []

    def cutting(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not cut or self is cut[0]:
            cut[:] = [self]
            raise raised
        return cat_file(self, *args, **kwargs)

    monkeypatch.setattr(LOCAL, "cat_file", cutting)
    with pytest.raises(Unavailable):
        store.read("a")
    assert store.read("a").data == b"1"
