"""One process at a time works on a buffer. The lock ends with the process, so no lock is stale."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import threading
from pathlib import Path

from singerlake.errors import LockTimeout
from singerlake.lineage.buffer.disk.layout import LOCK
from singerlake.runtime import REAL, Runtime

TRIES = 5
PAUSE_SECONDS = 0.1


class Owner:
    """Held until `release`, or until the process ends. Raises `LockTimeout`, naming the holder."""

    def __init__(self, folder: Path, runtime: Runtime = REAL) -> None:
        path = folder / LOCK
        # Never deleted: a second process could lock a file of the same name.
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        if not self._locked(runtime):
            os.close(self._descriptor)
            raise LockTimeout(
                f"{folder}: another proxy works on this buffer, {holder(folder)}; stop that proxy, "
                "or give this proxy a folder of its own with --data"
            )
        since = f"{runtime.now():%Y-%m-%d %H:%M:%S} UTC"
        about = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
        os.ftruncate(self._descriptor, 0)
        os.pwrite(self._descriptor, json.dumps(about).encode(), 0)

    def _locked(self, runtime: Runtime) -> bool:
        """Tried for a moment: `is_held` holds the lock while it asks."""
        for _ in range(TRIES):
            try:
                fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
            except BlockingIOError:
                runtime.wait(threading.Event(), PAUSE_SECONDS)
        return False

    def release(self) -> None:
        os.ftruncate(self._descriptor, 0)
        os.close(self._descriptor)


def holder(folder: Path) -> str:
    """Who holds the lock, in words."""
    try:
        about = json.loads((folder / LOCK).read_bytes())
        return f"process {about['process']} on {about['host']} since {about['since']}"
    except (OSError, ValueError, KeyError, TypeError):
        return "a process that did not leave its name"


def is_held(folder: Path) -> bool:
    """Whether a process works on the buffer now."""
    try:
        descriptor = os.open(folder / LOCK, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
