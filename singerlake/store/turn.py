"""A lock file on a local disk: one at a time, among threads of this process and among processes.

Threads wait for each other without a look at the disk. Processes do so by `flock`, which ends with
its holder; to wait for it has no time limit, so a process looks again until its time is up. The
file stays: were it removed, those who wait for it would hold another than those who come.
"""

from __future__ import annotations

import contextlib
import errno
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from singerlake.store.per_process import PerProcess

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

SHORTEST, LONGEST = 0.0005, 0.02
"""Seconds between two looks at a lock that another process holds."""

_HELD = {errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK}
_OPEN = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)

# By path: two stores of one folder are one to the disk. A forked process begins anew, because
# nobody there would let go what a thread of its parent held.
_threads: PerProcess[dict[str, threading.Lock]] = PerProcess(dict)


class NotInTime(Exception):
    """Somebody else had the lock for all of the time."""


@contextlib.contextmanager
def taken(path: Path, seconds: float) -> Iterator[None]:
    """Hold the lock at this path, whose folder is there. Raises `NotInTime` and `OSError`."""
    ends = time.monotonic() + seconds
    threads = _threads.get().setdefault(str(path), threading.Lock())
    if not threads.acquire(timeout=seconds):
        raise NotInTime
    try:
        with _by_flock(path, ends) if fcntl else _by_package(path, seconds):
            yield
    finally:
        threads.release()


@contextlib.contextmanager
def _by_flock(path: Path, ends: float) -> Iterator[None]:
    pause = SHORTEST
    while (descriptor := _tried(path)) is None:
        if time.monotonic() >= ends:
            raise NotInTime
        time.sleep(pause)
        pause = min(2 * pause, LONGEST)
    try:
        yield
    finally:
        # Not by closing alone: a process that was forked meanwhile has the descriptor too.
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        os.close(descriptor)


def _tried(path: Path) -> int | None:
    """The descriptor that holds the lock; None where somebody else does."""
    descriptor = os.open(path, _OPEN, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except FileNotFoundError:
        pass  # somebody tidied up: the file that was locked is nobody's any more
    except OSError as error:
        if error.errno not in _HELD:
            os.close(descriptor)
            raise
    os.close(descriptor)
    return None


def _by_package(path: Path, seconds: float) -> contextlib.AbstractContextManager[Any]:
    """Where there is no `flock`."""
    from filelock import FileLock, Timeout

    @contextlib.contextmanager
    def held() -> Iterator[None]:
        lock = FileLock(path, timeout=seconds)
        try:
            lock.acquire(poll_interval=SHORTEST)
        except Timeout:
            raise NotInTime from None
        try:
            yield
        finally:
            lock.release()

    return held()
