"""A vacuum on Spark beside a target that lands and readers that read: nothing is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import timedelta
from itertools import count, islice
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

import pytest
from pyspark.sql import SparkSession

from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.lake import WriterOptions, open_lake
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, VacuumReport
from singerlake.spark import read_stream
from singerlake.spark.vacuum import vacuum
from singerlake.store import Store, Stored, StoreWrapper, open_store
from tests.tap import replay
from tests.target.driving import (
    TAP_ID,
    Running,
    assert_clean,
    lake,
    numbers,
    schema,
    started,
    state,
    timed,
)

STREAM = "orders"
KEYS = StreamKeys(TAP_ID, STREAM)
SMALL_FILES = 2_000
COMMITS = 5
"""Of the target, at least, after the merges and before the vacuum commits them."""

T = TypeVar("T")


@pytest.mark.slow
def test_two_thousand_files_beside_a_target_and_readers(
    spark: SparkSession, tmp_path: Path
) -> None:
    root, draft = tmp_path / "lake", replay.new_root()
    land_small_files(draft, range(SMALL_FILES // 2), root)
    first = tap_run(tmp_path, root)
    land_small_files(draft, range(SMALL_FILES // 2, SMALL_FILES), root)
    held = lake(root).stream(TAP_ID, STREAM).snapshot()
    reading = held.records()
    half_read = list(islice(reading, SMALL_FILES // 2))

    done = vacuum_beside_others(spark, root)
    assert done.report.merged_files >= SMALL_FILES
    assert done.report.files_after < 50
    assert done.commits_meanwhile >= COMMITS

    everything = list(range(done.last_landed + 1))
    assert numbers(root, STREAM) == everything
    for seen in done.seen:
        assert seen == everything[: len(seen)]
    for records in ([*half_read, *reading], held.records()):
        assert [record["id"] for record in records] == everything[:SMALL_FILES]
    second = tap_run(tmp_path, root, first.state)
    assert first.numbers() == everything[: SMALL_FILES // 2]
    assert second.numbers() == everything[SMALL_FILES // 2 :]
    assert replay.replay(tap_config(root), second.state).numbers() == []
    assert_clean(root)

    assert len(purge(open_store(str(root)), KEYS, timedelta(0))) > SMALL_FILES
    assert numbers(root, STREAM) == everything
    assert numbers_in_spark(spark, root) == everything
    assert replay.replay(tap_config(root)).numbers() == everything
    assert_clean(root)


def land_small_files(draft: str, some: range, root: Path) -> None:
    """A commit for each record, by the lake's own writer.

    In memory, and then copied: a lake is its objects wherever they lie, and a disk that is
    flushed for each of them takes four times as long. By one thread: the commits of one stream
    wait for each other.
    """
    made = open_lake(draft, create=True)
    with made.writer(TAP_ID, options=WriterOptions(max_file_records=1, uploads=1)) as writer:
        writer.write(schema(STREAM).encode())
        for number in some:
            writer.write(timed(STREAM, number).encode())
    copy(made.store, root)


def copy(store: Store, root: Path) -> None:
    for listed in store.list(""):
        path = root / listed.key
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(store.read(listed.key).data)


def tap_config(root: Path) -> replay.Config:
    return replay.config(root, tap_id=TAP_ID)


def tap_run(folder: Path, root: Path, since: replay.Message | None = None) -> replay.Run:
    """The real command, from where another run ended."""
    ran = replay.run(folder, tap_config(root), state=since)
    assert ran.code == 0, ran.log
    return ran


def numbers_in_spark(spark: SparkSession, root: Path) -> list[int]:
    df = read_stream(spark, root, TAP_ID, STREAM, metadata=["_sequence", "_position"])
    return [row["id"] for row in df.orderBy("_sequence", "_position").collect()]


@dataclass(frozen=True)
class Done:
    """A vacuum, and what others did beside it."""

    report: VacuumReport
    commits_meanwhile: int
    last_landed: int
    seen: list[list[int]]


def vacuum_beside_others(spark: SparkSession, root: Path) -> Done:
    """A target lands, and a reader takes new snapshots, before, during and after the vacuum."""
    with started(root, commit_interval_seconds=0) as target:
        with (
            Repeated(landing(target)) as landed,
            Repeated(lambda: numbers(root, STREAM)) as seen,
        ):

            def others_go_on() -> None:
                landed.wait_for_more(COMMITS + 1)  # the last is still on its way
                seen.wait_for_more(1)

            others_go_on()
            store = VacuumStore(open_store(str(root)), others_go_on)
            report = vacuum(spark, store, KEYS, VacuumOptions(target_bytes=64 * 1024))
            others_go_on()
        outcome = target.end()
    assert outcome.code == 0, outcome.log
    return Done(report, store.commits_meanwhile, landed.results[-1], seen.results)


def landing(target: Running) -> Callable[[], int]:
    """Sends the next record and its STATE; returns it once the STATE of the one before is out.

    Not its own, though that may come at once, and alone: a target looks for commits that are done
    when something comes, and else once a second.
    """
    target.send(schema(STREAM))
    coming = count(SMALL_FILES)
    landed = SMALL_FILES - 1

    def land() -> int:
        nonlocal landed
        number = next(coming)
        target.send(timed(STREAM, number), state({"landed": number}))
        while landed < number - 1:
            landed = json.loads(target.next_state())["landed"]
        return number

    return land


class Repeated(Generic[T]):
    """Something that is done again and again on a thread of its own, until the `with` ends."""

    def __init__(self, action: Callable[[], T], pause: float = 0.05) -> None:
        self._action, self._pause = action, pause
        self._over = threading.Event()
        self._pool = ThreadPoolExecutor(1)
        self.results: list[T] = []

    def __enter__(self) -> Repeated[T]:
        self._work = self._pool.submit(self._repeat)
        return self

    def _repeat(self) -> None:
        while not self._over.wait(self._pause):
            self.results.append(self._action())

    def wait_for_more(self, times: int) -> None:
        """Until it was done so many times from beginning to end; raises what went wrong."""
        wanted = len(self.results) + 1 + times  # one may be half done already
        while len(self.results) < wanted:
            wait([self._work], 0.01)
            if self._work.done():
                self._work.result()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self._pool.shutdown()
        self._work.result()


class VacuumStore(StoreWrapper):
    """The store of the vacuum's driver: calls `before_commit` once, when all merges are done.

    That is when the vacuum first asks for the lock. Once it holds it, the target waits.
    """

    def __init__(self, inner: Store, before_commit: Callable[[], None]) -> None:
        super().__init__(inner)
        self._before_commit = before_commit
        self._merged = False
        self._last_sequences: list[int] = []

    def __reduce__(self) -> tuple[Any, ...]:
        """The executors only merge: for them it is the folder."""
        return open_store, (self.url,)

    def create(self, key: str, data: bytes | Path) -> str:
        if key.endswith("/singerlake.lock") and not self._merged:
            self._merged = True
            self._before_commit()
        return super().create(key, data)

    def read(self, key: str) -> Stored:
        found = super().read(key)
        if key == KEYS.manifest:
            self._last_sequences.append(manifests.decode(found.data, key).last_sequence)
        return found

    @property
    def commits_meanwhile(self) -> int:
        """From the manifest that the merges were planned by to the one that they replaced."""
        return self._last_sequences[-1] - self._last_sequences[0]
