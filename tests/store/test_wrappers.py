"""Counting calls, and limiting their time."""

from __future__ import annotations

import io
import threading
import time
import uuid
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest

from singerlake.errors import NotFound, OutcomeUnknown, Unavailable
from singerlake.store import (
    Counting,
    MemoryStore,
    Retrying,
    RetryPolicy,
    Store,
    Stored,
    StoreWrapper,
    TimeLimited,
    time_limited,
)


@pytest.fixture
def memory() -> MemoryStore:
    return MemoryStore(uuid.uuid4().hex)


def test_counts_calls(memory: MemoryStore) -> None:
    store = Counting(memory)
    store.create("a", b"1")
    store.read("a")
    store.read("a")
    with pytest.raises(NotFound):
        store.read("b")
    assert store.counts == {"create": 1, "read": 3}
    assert store.total == 4
    store.reset()
    assert store.total == 0


def test_counts_in_threads(memory: MemoryStore) -> None:
    store = Counting(memory)
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(lambda number: store.delete(str(number)), range(1000))]
    assert store.counts == {"delete": 1000}


class Stuck(StoreWrapper):
    """A stand-in for a store that does not answer until it is let go."""

    go_on = threading.Event()

    def read(self, key: str) -> Stored:
        self.go_on.wait(10)
        return super().read(key)

    def create(self, key: str, data: bytes | Path) -> str:
        self.go_on.wait(10)
        return super().create(key, data)


def test_gives_up_on_a_stuck_store(memory: MemoryStore) -> None:
    store = TimeLimited(Stuck(memory), 0.05)
    try:
        with pytest.raises(Unavailable, match=f"reading a in {memory.url}") as caught:
            store.read("a")
        assert caught.type is Unavailable
        with pytest.raises(OutcomeUnknown, match="creating a"):
            store.create("a", b"1")
    finally:
        Stuck.go_on.set()


class StuckFile(io.BytesIO):
    def __init__(self, go_on: threading.Event) -> None:
        super().__init__(b"1")
        self._go_on = go_on

    def readinto(self, buffer: Any) -> int:
        self._go_on.wait(10)
        return super().readinto(buffer)


class StuckFiles(StoreWrapper):
    """A stand-in for a store that opens an object, and then sends nothing of it."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.go_on = threading.Event()
        self.opened: list[BinaryIO] = []

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        raw: Any = StuckFile(self.go_on)
        self.opened.append(cast(BinaryIO, io.BufferedReader(raw)))
        return self.opened[-1]


def test_a_file_whose_read_hangs_can_be_closed(memory: MemoryStore) -> None:
    """A file's own lock is held by the read that hangs, and its `close` waits for that."""
    stuck = StuckFiles(memory)
    store = Retrying(TimeLimited(stuck, 0.05), RetryPolicy(attempts=2), sleep=lambda _: None)

    def read() -> None:
        with store.open("a") as file:
            file.read()

    with ThreadPoolExecutor(1) as pool:
        try:
            with pytest.raises(Unavailable, match="2 attempts"):
                pool.submit(read).result(5)
        finally:
            stuck.go_on.set()
    assert len(stuck.opened) == 2
    end = time.monotonic() + 5
    while not all(file.closed for file in stuck.opened) and time.monotonic() < end:
        time.sleep(0.01)
    assert all(file.closed for file in stuck.opened)


def test_the_size_of_a_file_whose_read_hangs_has_a_time_limit_too(memory: MemoryStore) -> None:
    stuck = StuckFiles(memory)
    file = TimeLimited(stuck, 0.05).open("a")
    with ThreadPoolExecutor(1) as pool:
        try:
            with pytest.raises(Unavailable):
                file.read(1)
            with pytest.raises(Unavailable):
                pool.submit(file.seek, 0, io.SEEK_END).result(5)
        finally:
            stuck.go_on.set()


def test_an_answer_at_the_last_moment_is_one(
    memory: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Late(Future[Any]):
        """Times out, and is answered before anybody has looked."""

        def result(self, timeout: float | None = None) -> Any:
            answer = super().result(10)
            if timeout is not None:
                raise time_limited.FutureTimeout
            return answer

    memory.create("a", b"1")
    monkeypatch.setattr(time_limited, "Future", Late)
    assert TimeLimited(memory, 0.05).read("a").data == b"1"


def test_passes_errors_on(memory: MemoryStore) -> None:
    with pytest.raises(NotFound):
        TimeLimited(memory, 10).read("a")
