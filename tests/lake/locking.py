"""Waiting for locks, on a clock that the tests move."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from datetime import datetime, timezone

from singerlake.format import lock_record
from singerlake.format.lock_record import LockRecord
from singerlake.lake import LockTimes, lock
from singerlake.store import Store
from tests.lake.faulty_store import LOCK_READ, Background, Recording, in_thread
from tests.lake.landing import PATIENT

KEY = "folder/singerlake.lock"


class Clock:
    """The waiter's own clock, which moves when the test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.01))


class Waiter:
    """Someone who wants a lock, in a thread of its own."""

    def __init__(self, store: Store, times: LockTimes = PATIENT) -> None:
        self.store = Recording(store)
        self._times = times
        self.may_leave = threading.Event()
        self.inside = threading.Event()
        self._thread: Background = in_thread(self._run)

    def _run(self) -> None:
        with lock.held(self.store, KEY, "waiter", self._times):
            self.inside.set()
            assert self.may_leave.wait(60)

    def looks_again(self) -> None:
        """Return when it has looked at the lock twice more, from beginning to end."""
        seen = self.store.count(LOCK_READ)
        until(lambda: self.inside.is_set() or self.store.count(LOCK_READ) >= seen + 2)

    def leave(self) -> None:
        self.may_leave.set()
        self._thread.result()


def record(writer: str = "other", moment: datetime | None = None) -> bytes:
    moment = moment or datetime.now(timezone.utc)
    return lock_record.encode(LockRecord(writer, moment, moment))


def refresh(store: Store) -> None:
    store.replace(KEY, record(), store.read(KEY).version)


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)
