"""kill -9 at each request of a put, and of a purge: what is visible is whole, and the rest goes."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any, TypeVar

import pytest

from singerlake.files import entries, forget, put
from singerlake.format.blob_keys import path_of
from singerlake.format.keys import StreamKeys
from singerlake.lake import Level, LockTimes, WriterOptions, check, open_on
from singerlake.lake.lake import Stream
from singerlake.lake.purging import purge
from singerlake.store import LocalStore, Store
from tests.faults.files import put as broken_put
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.forking import fork
from tests.lake.faulty_store import Intercepting, Recording

KILLED = 9
NOW = timedelta(0)
KEYS = StreamKeys("camera-1", "photos")
QUICK = LockTimes(stale_after=0.05, refresh_every=30.0, max_wait=30.0, settle=0.01)
OPTIONS = WriterOptions(lock=QUICK, uploads=1)
STEP = scaled(4, 1)

Result = TypeVar("Result")


class Killing(Intercepting):
    """Ends the process before or after its N-th request, without a word."""

    def __init__(self, inner: Store, at: int, after: bool) -> None:
        super().__init__(inner)
        self._at, self._after = at, after
        self._requests = itertools.count(1)

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        mine = next(self._requests) == self._at
        if mine and not self._after:
            os._exit(KILLED)
        try:
            return call()
        finally:
            if mine:
                os._exit(KILLED)


def put_two(store: Store, folder: Path) -> None:
    lake = open_on(store, create=True)
    put(lake, [folder / "a", folder / "b"], what="photos", where="camera-1", options=OPTIONS)


def forget_first(store: Store, folder: Path) -> None:
    lake = open_on(store)
    first = entries(lake.stream("camera-1", "photos"))
    if first:
        forget(lake, "camera-1", "photos", [first[0].id], apply=True)


def purge_all(store: Store, folder: Path) -> None:
    purge(store, KEYS, NOW, abandoned=NOW)


WORK: dict[str, Callable[[Store, Path], None]] = {
    "put": put_two,
    "forget": forget_first,
    "purge": purge_all,
}


@pytest.fixture
def ground(tmp_path: Path) -> Path:
    """A lake with a file and an orphan, and two files to put, one of them the orphan's bytes."""
    (tmp_path / "a").write_bytes(b"bytes of an orphan")
    (tmp_path / "b").write_bytes(b"new bytes" * 1000)
    (tmp_path / "old").write_bytes(b"old bytes")
    store = LocalStore(tmp_path / "lake")
    put(open_on(store, create=True), [tmp_path / "old"], what="photos", where="camera-1")
    orphan = path_of(hashlib.sha256(b"bytes of an orphan").hexdigest())
    store.create(KEYS.under(orphan), b"bytes of an orphan")
    return tmp_path


def work_until_killed(name: str, lake: Path, folder: Path, at: int, after: bool) -> None:
    """In a process of its own."""
    WORK[name](Killing(LocalStore(lake), at, after), folder)
    os._exit(0)


def run(target: Callable[..., None], *arguments: Any) -> int | None:
    process = fork.Process(target=target, args=arguments)
    process.start()
    process.join(60)
    return process.exitcode


def require_whole(store: Store) -> int:
    """Every file that is visible has its bytes; returns how many there are."""
    stream = Stream(store, "camera-1", "photos")
    found = entries(stream)
    for entry in found:
        data = store.read(KEYS.under(entry.path)).data
        assert hashlib.sha256(data).hexdigest() == entry.sha256
    report = check(store, times=QUICK, deep=True)
    assert [one.code for one in report.findings if one.level is Level.ERROR] == []
    return len(found)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", WORK)
def test_killed_at_each_request(name: str, ground: Path) -> None:
    trial = ground / "trial"
    shutil.copytree(ground / "lake", trial)
    recording = Recording(LocalStore(trial))
    WORK[name](recording, ground)
    requests = len(recording.requests)
    assert requests > 5
    before = require_whole(LocalStore(ground / "lake"))
    line = Line("Files", f"kill -9 at each request of a {name}", "tests/files/test_kills.py")
    for number, (at, after) in enumerate(itertools.product(range(1, requests + 1), (False, True))):
        if number % STEP:
            continue
        lake = ground / "killed"
        shutil.copytree(ground / "lake", lake)
        assert run(work_until_killed, name, lake, ground, at, after) == KILLED
        line.runs, line.faults = line.runs + 1, line.faults + 1
        store = LocalStore(lake)
        there = require_whole(store)
        assert there in {"put": (before, before + 2), "forget": (before, before - 1)}.get(
            name, (before,)
        )
        # Whoever comes next is not held up by what died, but by an announced removal of its bytes.
        for key in [row.key for row in store.list(KEYS.under("_files/_removals"))]:
            store.delete(key)  # as a purge does a day later
        check(store, fix=True, times=QUICK)  # which may adopt a record, or a tombstone
        there = require_whole(store)
        put_two(store, ground)
        assert require_whole(store) == there + 2
        purge(store, KEYS, NOW, abandoned=NOW)
        assert require_whole(store) == there + 2
        codes = [one.code for one in check(store, times=QUICK).findings]
        assert "orphan-blob" not in codes
        shutil.rmtree(lake)
    line.keep()


def put_record_first(store: Store, folder: Path) -> None:
    """What nobody must do."""
    broken_put(store, 1, content=b"new bytes", early=True)


def test_a_record_before_its_bytes_is_seen(tmp_path: Path) -> None:
    """The control: killed between the two, a check finds the record without its bytes."""
    recording = Recording(LocalStore(tmp_path / "whole"))
    put_record_first(recording, tmp_path)
    commit = max(
        at
        for at, (method, key) in enumerate(recording.requests, start=1)
        if method == "replace" and key.endswith("/manifest.json")
    )
    store = LocalStore(tmp_path / "killed")
    with pytest.raises(SystemExit):
        put_record_first(_Exiting(store, commit, False), tmp_path)
    line = Line("Files", "control: killed between record and bytes", "tests/files/test_kills.py")
    line.control("blob-missing" in [one.code for one in check(store, times=QUICK).findings])


class _Exiting(Killing):
    """Ends by an exception: nothing here needs a process of its own."""

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if next(self._requests) > self._at:
            raise SystemExit(KILLED)
        return call()
