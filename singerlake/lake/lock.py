"""The lock: one writer at a time in a schema folder, as a courtesy.

It saves wasted work. It does not carry the safety: a writer may sleep past its lease, and two
schema folders of one stream share a manifest, so what keeps every commit is that the manifest is
replaced conditionally (docs/decisions/conditional-commit.md). A writer that finds its lock taken
over goes on, and its commit is right or is refused.

No two machines' clocks are compared: a lock is stale when it has not changed while the waiter
watched it, by the waiter's own clock, for `stale_after` seconds.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from operator import itemgetter

from singerlake.errors import (
    AlreadyExists,
    Changed,
    CorruptDocument,
    LockTimeout,
    NotFound,
    OutcomeUnknown,
    SingerlakeError,
)
from singerlake.format import lock_record
from singerlake.format.lock_record import LockRecord
from singerlake.lake import clock
from singerlake.lake.patience import Patience
from singerlake.store import Promise, Store, Stored
from singerlake.store.per_process import PerProcess

log = logging.getLogger("singerlake.lock")

LOOK_EVERY = 0.25
"""Seconds between two looks of a waiter, at most. A writer that commits without a pause leaves the
lock alone for moments only: who looks seldom waits for minutes."""


@dataclass(frozen=True)
class LockTimes:
    """In seconds. `settle` is how long a best-effort store is given before a write is read back."""

    stale_after: float = 60.0
    refresh_every: float = 15.0
    max_wait: float = 300.0
    settle: float = 1.0


@contextmanager
def held(store: Store, key: str, writer_id: str, times: LockTimes) -> Iterator[None]:
    """Hold the lock at `key` for the body of the `with`. Raises `LockTimeout`."""
    keeper = _Keeper(store, key, _acquire(store, key, writer_id, times), times.refresh_every)
    try:
        keeper.start()
        yield
    finally:
        keeper.release()


def _acquire(store: Store, key: str, writer_id: str, times: LockTimes) -> Stored:
    """Write, read back, verify; wait for, and at last take over, another's lock."""
    patience = Patience(times.max_wait, longest=LOOK_EVERY)
    watched, since = "", 0.0
    hurried = False
    current: Stored | None = None
    sent: set[bytes] = set()
    while True:
        mine, wrote = _record(writer_id), False
        if current is None:
            sent.add(mine)
            wrote = _create(store, key, mine)
        elif time.monotonic() - since >= times.stale_after:
            sent.add(mine)
            wrote = _take_over(store, key, mine, current)
        if wrote and store.promise() is Promise.BEST_EFFORT:
            time.sleep(times.settle)
        current = _read(store, key)
        if current is not None and current.data in sent:
            return current  # perhaps an earlier one, whose answer was lost and that came late
        if current is not None and current.version != watched:
            watched, since = current.version, time.monotonic()
        hurried = current is None and not hurried
        if hurried:
            continue  # it was let go as we looked: take it before its holder is back
        if not patience.pause():
            raise LockTimeout(
                f"{store.url}/{key}: waited {patience.waited():.0f} s for the lock, "
                f"which is held by {_holder(current)}; try again when that writer is done, or "
                f"wait longer (lock_max_wait_seconds)"
            )


def _create(store: Store, key: str, record: bytes) -> bool:
    try:
        store.create(key, record)
    except AlreadyExists:
        return False
    except OutcomeUnknown:
        pass  # reading it back will tell
    return True


def _take_over(store: Store, key: str, record: bytes, stale: Stored) -> bool:
    try:
        store.replace(key, record, stale.version)
    except Changed:
        return False
    except OutcomeUnknown:
        return True  # reading it back will tell
    log.warning("took over the stale lock %s/%s from %s", store.url, key, _holder(stale))
    return True


def _read(store: Store, key: str) -> Stored | None:
    try:
        return store.read(key)
    except NotFound:
        return None


def _record(writer_id: str) -> bytes:
    moment = clock.now()
    return lock_record.encode(LockRecord(writer_id, moment, moment))


def _holder(current: Stored | None) -> str:
    if current is None:
        return "nobody any more"
    try:
        record = lock_record.decode(current.data, "lock")
    except CorruptDocument:
        return "an unreadable lock file"
    return f"{record.writer_id} (since {record.acquired:%Y-%m-%d %H:%M:%S} by its clock)"


def _same_holder(current: Stored, mine: LockRecord) -> bool:
    try:
        record = lock_record.decode(current.data, "lock")
    except CorruptDocument:
        return False
    return (record.writer_id, record.acquired) == (mine.writer_id, mine.acquired)


class _Keeper:
    """Refreshes a held lock from time to time, and lets it go."""

    def __init__(self, store: Store, key: str, lock: Stored, refresh_every: float) -> None:
        self._store, self._key, self._lock = store, key, lock
        self._turn = threading.Lock()
        self._stopped = False
        self.refresh_every = refresh_every

    def start(self) -> None:
        """Have it refreshed in the background until `release`."""
        _rounds.get().add(self)

    def stop(self) -> None:
        """No refresh begins after this, nor is one under way."""
        _rounds.get().drop(self)
        with self._turn:
            self._stopped = True

    def refresh(self) -> bool:
        """Whether the lock is to be refreshed again."""
        if not self._turn.acquire(blocking=False):
            return True  # the refresh before this one has no answer yet
        try:
            if self._stopped:
                return False
            self._refresh()
        except Changed:
            log.warning(
                "lost the lock %s/%s to another writer; the commit goes on, and the manifest "
                "decides",
                self._store.url,
                self._key,
            )
            return False
        except SingerlakeError as error:
            log.warning("could not refresh the lock %s: %s", self._key, error)
        except Exception:  # of a store's own: it would come again at every refresh
            log.exception("could not refresh the lock %s: it will turn stale", self._key)
            return False
        finally:
            self._turn.release()
        return True

    def _refresh(self) -> None:
        old = lock_record.decode(self._lock.data, self._key)
        data = lock_record.encode(LockRecord(old.writer_id, old.acquired, clock.now()))
        try:
            self._lock = Stored(data, self._store.replace(self._key, data, self._lock.version))
        except (Changed, OutcomeUnknown):
            # The refresh, or the one before it, may have been applied and its answer lost.
            current = _read(self._store, self._key)
            if current is None or not _same_holder(current, old):
                raise
            self._lock = current

    def release(self) -> None:
        """Delete the lock if it is still ours."""
        self.stop()
        try:
            self._store.delete_if(self._key, self._lock.version)
        except Changed:
            log.info("the lock %s/%s is another writer's by now", self._store.url, self._key)
        except SingerlakeError as error:
            # What the lock was for is done, or has failed with an error of its own.
            log.warning("could not remove the lock %s: it will turn stale (%s)", self._key, error)


class _Rounds:
    """One thread that waits for all locks which this process holds, and has each refreshed in time.

    It begins with a lock, and ends when it wakes and finds none: most locks are held for less than
    the time to their first refresh, and cost no thread and no wake-up. A refresh has a thread to
    itself: one store that does not answer would make the locks in all others stale.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._due: dict[_Keeper, float] = {}
        self._wakes = math.inf

    def add(self, keeper: _Keeper) -> None:
        at = time.monotonic() + keeper.refresh_every
        with self._changed:
            self._due[keeper] = at
            if self._wakes == math.inf:
                threading.Thread(target=self._run, name="singerlake-locks", daemon=True).start()
                self._wakes = at  # not before: where no thread is to be had, the next lock tries
            elif at < self._wakes:
                self._changed.notify()

    def drop(self, keeper: _Keeper) -> None:
        with self._changed:
            self._due.pop(keeper, None)

    def _run(self) -> None:
        while (keeper := self._next()) is not None:
            work, name = partial(self._refresh, keeper), "singerlake-refresh"
            try:
                threading.Thread(target=work, name=name, daemon=True).start()
            except RuntimeError as error:
                log.warning("a lock is refreshed later, for no thread is to be had: %s", error)

    def _refresh(self, keeper: _Keeper) -> None:
        if not keeper.refresh():
            self.drop(keeper)

    def _next(self) -> _Keeper | None:
        """The next that is due, when it is; None where there is none left to wait for."""
        with self._changed:
            while self._due:
                keeper, at = min(self._due.items(), key=itemgetter(1))
                now = time.monotonic()
                if at <= now:
                    self._due[keeper] = now + keeper.refresh_every
                    return keeper
                self._wakes = at
                self._changed.wait(at - now)
            self._wakes = math.inf
            return None


# A forked process has no thread of its parent, and holds none of its locks.
_rounds = PerProcess(_Rounds)
