"""Many processes, one stream: every commit is there once, whoever was stopped on the way."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from singerlake.errors import SingerlakeError
from singerlake.format import manifest as manifests
from singerlake.lake import LockTimes, Selection, check, open_lake, open_on
from singerlake.lake.feed import position
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Store, open_store
from tests.forking import fork
from tests.lake import faulty_store
from tests.lake.faulty_store import At, StoppingProcess
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    assert_clean,
    assert_once_each,
    codes,
    numbers_in,
    objects_in,
    options,
    record_line,
    schema_line,
)
from tests.servers import S3Server

PROCESSES = 8
COMMITS = 50

RACING = LockTimes(stale_after=60.0, refresh_every=10.0, max_wait=300.0)
"""Nobody dies in a plain race, so no lock is ever stale, however slow the machine."""

STALE = LockTimes(stale_after=1.5, refresh_every=0.3, max_wait=200.0)
"""Short enough to wait for, long enough for a live writer on a busy machine to refresh."""


@dataclass(frozen=True)
class Place:
    """Where a lake is, for a process to open it."""

    url: str
    storage_options: dict[str, Any] = field(default_factory=dict)

    def store(self) -> Store:
        return open_store(self.url, self.storage_options)


@pytest.fixture(params=["local", "seaweedfs"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    if request.param == "local":
        return Place(str(tmp_path / "lake"))
    server: S3Server = request.getfixturevalue("seaweedfs")
    return Place(f"s3://{server.new_bucket()}/lake", server.storage_options())


def commit_many(place: Place, index: int, version: int, fresh: bool, times: LockTimes) -> None:
    """In a process of its own: commits of one record each, by one writer or by one each."""
    lake = open_lake(place.url, create=True, **place.storage_options)
    numbers = range(index * COMMITS, (index + 1) * COMMITS)
    for batch in [[number] for number in numbers] if fresh else [numbers]:
        with lake.writer(TAP, options=options(times)) as writer:
            for number in batch:
                writer.write(schema_line(version=version))
                writer.write(record_line(number))
                (file,) = writer.commit()
                assert file.records == 1


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_eight_processes_in_two_schema_folders_lose_no_commit(place: Place) -> None:
    processes = [
        fork.Process(
            target=commit_many,
            args=(place, index, 1 if index < PROCESSES // 2 else 2, index % 4 == 3, RACING),
        )
        for index in range(PROCESSES)
    ]
    with ended(processes):
        for process in processes:
            process.join(540)
        assert [process.exitcode for process in processes] == [0] * PROCESSES

    store = place.store()
    assert_once_each(store, PROCESSES * COMMITS)
    for index in range(PROCESSES):
        # Within one process the commits keep their order.
        mine = range(index * COMMITS, (index + 1) * COMMITS)
        assert [number for number in numbers_in(store) if number in mine] == list(mine)
    assert objects_in(store, "singerlake.lock") == []
    assert_clean(store)


SMALL_SEGMENTS = 4
GRACE = timedelta(seconds=3)
"""What a writer or a vacuum that has just read the manifest may still need."""


def commit_beside_vacuums(place: Place, index: int) -> None:
    """In a process of its own, as are the next three."""
    manifests.FAN_OUT = SMALL_SEGMENTS
    commit_many(place, index, 1, index == 1, RACING)


def vacuum_until(place: Place, over: Path) -> None:
    """Merges of a few files, then merges of those, and so on: all sizes, however slow."""
    manifests.FAN_OUT = SMALL_SEGMENTS
    store = place.store()
    sizes = (1_000, 2_000, 4_000, 1_000_000)
    at = 0
    while at <= len(sizes) or not over.exists():
        options = VacuumOptions(target_bytes=sizes[at % len(sizes)], lock=RACING)
        vacuum(store, KEYS, options)
        at += 1
        time.sleep(0.1)


def purge_until(place: Place, over: Path, reading: Path) -> None:
    """Removes what was replaced, whenever no reader holds a snapshot."""
    manifests.FAN_OUT = SMALL_SEGMENTS
    store = place.store()
    while not over.exists():
        with FileLock(reading):
            purge(store, KEYS, GRACE)
        time.sleep(0.05)


def read_until(place: Place, over: Path, reading: Path, outcome: Path) -> None:
    """Reads whole snapshots, and the feed by its bookmark; each record comes once in either."""
    manifests.FAN_OUT = SMALL_SEGMENTS
    stream = open_lake(place.url, **place.storage_options).stream(TAP, STREAM)
    feed: list[int] = []
    bookmark = None
    last = False
    while not last:
        last = over.exists()
        with FileLock(reading):
            snapshot = stream.snapshot()
            time.sleep(0.3)  # others merge what it names
            whole = [record["id"] for record in snapshot.records()]
            since = 0
            if bookmark is not None:
                position.require(snapshot, bookmark)
                since = bookmark.sequence
            selection = Selection(since=since)
            feed += [record["id"] for record in snapshot.records(selection)]
            files = list(snapshot.files(selection))
            bookmark = position.after(snapshot, files[-1]) if files else bookmark
        assert whole == feed, (whole, feed)
        assert len(set(whole)) == len(whole), whole
        time.sleep(0.05)
    outcome.write_text(json.dumps(feed))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_beside_vacuums_and_purges_writers_lose_nothing_and_readers_see_all_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", SMALL_SEGMENTS)
    place = Place(str(tmp_path / "lake"))
    over, reading, outcome = (tmp_path / name for name in ("over", "reading", "outcome"))
    commit_beside(place, range(1000, 1003), version=1)
    writers = [
        fork.Process(target=commit_beside_vacuums, args=(place, index)) for index in range(2)
    ]
    others = [
        fork.Process(target=vacuum_until, args=(place, over)),
        fork.Process(target=purge_until, args=(place, over, reading)),
        fork.Process(target=read_until, args=(place, over, reading, outcome)),
    ]
    with ended([*writers, *others]):
        for process in writers:
            process.join(200)
        over.touch()
        for process in others:
            process.join(60)
        assert [process.exitcode for process in [*writers, *others]] == [0] * 5

    store = place.store()
    wanted = [1000, 1001, 1002, *range(2 * COMMITS)]
    there = numbers_in(store)
    assert sorted(there) == sorted(wanted)
    assert json.loads(outcome.read_text()) == there
    for index in range(2):
        mine = range(index * COMMITS, (index + 1) * COMMITS)
        assert [number for number in there if number in mine] == list(mine)
    assert_clean(store)
    purge(store, KEYS, timedelta(0), abandoned=timedelta(0))
    assert numbers_in(store) == there
    assert_clean(store)


def commit_one_and_stop(
    place: Place,
    number: int,
    at: At,
    before: bool,
    marker: Path,
    outcome: Path,
    times: LockTimes,
) -> None:
    """In a process of its own: a commit that stops at a request until the marker is removed."""
    store = StoppingProcess(place.store(), at, before, marker)
    lake = open_on(store, create=True)
    writer = lake.writer(TAP, options=options(times))
    writer.write(schema_line())
    writer.write(record_line(number))
    try:
        writer.commit()
        outcome.write_text(json.dumps({"committed": True}))
    except SingerlakeError as error:
        outcome.write_text(
            json.dumps({"committed": False, "error": f"{type(error).__name__}: {error}"})
        )
    finally:
        writer.close()


def commit_beside(place: Place, numbers: range, version: int) -> None:
    lake = open_lake(place.url, create=True, **place.storage_options)
    with lake.writer(TAP, options=options(STALE)) as writer:
        for number in numbers:
            writer.write(schema_line(version=version))
            writer.write(record_line(number))
            writer.commit()


STOPS = {
    "before the lock is made": (faulty_store.LOCK_CREATE, True),
    "after the lock is made, before it is read back": (faulty_store.LOCK_READ, True),
    "holding the lock, before the upload": (faulty_store.UPLOAD, True),
    "after the upload, before the manifest": (faulty_store.MANIFEST_REPLACE, True),
    "after the manifest, before its answer": (faulty_store.MANIFEST_REPLACE, False),
    "before the lock is released": (faulty_store.LOCK_DELETE, True),
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("stop", STOPS)
def test_a_writer_stopped_past_the_stale_time_loses_nothing(
    place: Place, stop: str, tmp_path: Path
) -> None:
    at, before = STOPS[stop]
    marker, outcome = tmp_path / "marker", tmp_path / "outcome"
    commit_beside(place, range(1), version=1)
    stopped = fork.Process(
        target=commit_one_and_stop, args=(place, 1, at, before, marker, outcome, STALE)
    )
    others = [
        fork.Process(target=commit_beside, args=(place, range(2, 5), 1)),
        fork.Process(target=commit_beside, args=(place, range(5, 8), 1)),
        fork.Process(target=commit_beside, args=(place, range(8, 11), 2)),
    ]
    with ended([stopped]):
        until(marker.exists)
        os.kill(stopped.pid or 0, signal.SIGSTOP)
        # From here its other threads sleep too: nothing refreshes its lock.
        with ended(others):
            for process in others:
                process.join(200)
            assert [process.exitcode for process in others] == [0, 0, 0]
        store = place.store()
        seen = numbers_in(store)
        assert set(seen) - {1} == {0, *range(2, 11)}
        marker.unlink()
        os.kill(stopped.pid or 0, signal.SIGCONT)
        stopped.join(200)
        assert stopped.exitcode == 0

    result = json.loads(outcome.read_text())
    assert result["committed"], result
    assert numbers_in(store)[: len(seen)] == seen
    assert_once_each(store, 11)
    report = check(store, fix=True, times=STALE)
    assert not [row for row in report.findings if row.code not in ("stale-lock", "orphan-file")]
    assert_clean(store)
    assert_once_each(store, 11)
    assert objects_in(store, "singerlake.lock") == []


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_writer_stopped_for_longer_than_it_may_wait_fails_clearly(
    place: Place, tmp_path: Path
) -> None:
    impatient = replace(STALE, max_wait=1.0)
    marker, outcome = tmp_path / "marker", tmp_path / "outcome"
    commit_beside(place, range(1), version=1)
    stopped = fork.Process(
        target=commit_one_and_stop,
        args=(place, 1, faulty_store.MANIFEST_REPLACE, True, marker, outcome, impatient),
    )
    with ended([stopped]):
        until(marker.exists)
        os.kill(stopped.pid or 0, signal.SIGSTOP)
        commit_beside(place, range(2, 4), version=1)  # waits for the stale time
        marker.unlink()
        os.kill(stopped.pid or 0, signal.SIGCONT)
        stopped.join(200)
    result = json.loads(outcome.read_text())
    assert result["error"].startswith("CommitConflict")
    assert "other writers changed it" in result["error"]
    store = place.store()
    assert numbers_in(store) == [0, 2, 3]
    assert codes(check(store, fix=True, times=STALE)) == ["orphan-file"]
    assert_once_each(store, 4)
    assert_clean(store)


class ended:  # noqa: N801 - reads as a phrase: with ended(processes)
    """Starts processes, and leaves none behind."""

    def __init__(self, processes: list[Any]) -> None:
        self._processes = processes

    def __enter__(self) -> None:
        for process in self._processes:
            process.start()

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process.is_alive():
                process.kill()
            process.join()


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.01)
