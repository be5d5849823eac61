"""Counting calls, and limiting their time."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from singerlake.errors import NotFound, OutcomeUnknown, Unavailable
from singerlake.store import Counting, MemoryStore, Stored, StoreWrapper, TimeLimited


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


def test_passes_errors_on(memory: MemoryStore) -> None:
    with pytest.raises(NotFound):
        TimeLimited(memory, 10).read("a")
