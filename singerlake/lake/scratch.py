"""Temporary folders, and those that a killed process left behind.

    /tmp/singerlake-x7f3/lock     locked as long as the process lives; the name of its machine
    /tmp/singerlake-x7f3/files/   what the process puts there

kill -9 leaves the folder, with data in it, and takes the lock away. The next process of the same
user on this machine removes such folders. A folder without a lock is never touched.
"""

from __future__ import annotations

import contextlib
import logging
import os
import shutil
import socket
import stat
import tempfile
import time
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from singerlake.errors import ConfigError

logger = logging.getLogger(__name__)

PREFIX = "singerlake-"
LOCK, FILES = "lock", "files"

OTHERS = 24 * 3600.0
"""Seconds without a change after which a folder of another machine counts as left: a file system
that several machines share may not show them each other's locks."""

_swept: set[Path] = set()


class TemporaryFolder:
    """A folder of this process: `name` is where its files go. It goes when it is closed."""

    def __init__(self, within: Path | None) -> None:
        self._outer = tempfile.TemporaryDirectory(
            prefix=PREFIX, dir=within, ignore_cleanup_errors=True
        )
        outer = Path(self._outer.name)
        self.name = str(outer / FILES)
        Path(self.name).mkdir()
        lock = _hold(outer)
        # Also for who forgets to clean up, as the folder is removed for them: a process of days
        # would run out of descriptors.
        self._let_go = weakref.finalize(self, os.close, lock) if lock is not None else None

    def cleanup(self) -> None:
        self._outer.cleanup()
        if self._let_go is not None:
            self._let_go()

    def __enter__(self) -> str:
        return self.name

    def __exit__(self, *_: object) -> None:
        self.cleanup()


@dataclass(frozen=True)
class Leftover:
    """A folder whose process was killed."""

    path: Path
    bytes: int


def temporary_folder(within: Path | None = None) -> TemporaryFolder:
    """A new folder in this one, or in the system's; it goes, as far as it can, when it is closed.

    The first of a process removes what killed processes left there. Raises `ConfigError` where
    there is no place for a folder.
    """
    try:
        place = within or Path(tempfile.gettempdir())
        if place not in _swept:
            _swept.add(place)
            sweep(place)
        return TemporaryFolder(within)
    except OSError as error:
        raise ConfigError(
            f"no temporary folder can be made ({error}): let "
            f"{'spool_folder' if within else 'TMPDIR'} name a folder that can be written to"
        ) from error


def spool_folder(asked: Path | None, offered: Callable[[], Path | None]) -> TemporaryFolder:
    """Where a writer gathers its files: where it is asked to, else on the disk of its store, which
    has offered that, else where the system has it. Raises as `temporary_folder` does."""
    place = None if asked else offered()
    if place is not None:
        with contextlib.suppress(ConfigError):  # who may not write there hears it from the store
            return temporary_folder(place)
    return temporary_folder(asked)


def leftovers(within: Path | None = None) -> list[Leftover]:
    """The folders that killed processes of this user left."""
    found = []
    for path, lock in _abandoned(within or Path(tempfile.gettempdir())):
        found.append(Leftover(path, _size(path)))
        os.close(lock)
    return found


def sweep(within: Path) -> int:
    """Remove the folders that killed processes of this user left; returns how many."""
    removed = 0
    for path, lock in _abandoned(within):
        size = _size(path)
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
        logger.info("Removed %s (%d bytes), which a killed process left", path, size)
        removed += 1
    return removed


def _abandoned(within: Path) -> Iterator[tuple[Path, int]]:
    """Folders of this user whose lock is free, each with that lock, for the caller to close."""
    if not hasattr(os, "geteuid"):
        return  # Windows, where no lock is held
    with contextlib.suppress(OSError):
        for path in sorted(within.glob(f"{PREFIX}*")):
            lock = _taken(path)
            if lock is not None:
                yield path, lock


def _taken(path: Path) -> int | None:
    """The lock of a folder that nobody uses; None where it is used, or is not ours."""
    import fcntl

    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return None
        lock = os.open(path / LOCK, os.O_RDWR | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        machine = os.read(lock, 1024).decode(errors="replace")
        if machine == socket.gethostname() or time.time() - _changed(path) > OTHERS:
            return lock
    except OSError:
        pass  # somebody lives there, or the lock cannot be had at all
    os.close(lock)
    return None


def _hold(outer: Path) -> int | None:
    """Lock the folder for as long as this process lives; None where the system has no such locks.

    The lock gets its name when it is held: nobody ever finds it free.
    """
    unnamed = outer / f"{LOCK}.new"
    unnamed.write_text(socket.gethostname())
    lock = _locked(unnamed)
    if lock is not None:
        unnamed.rename(outer / LOCK)
    return lock


def _locked(path: Path) -> int | None:
    try:
        import fcntl
    except ImportError:
        return None
    # A file that is open to be written keeps its disk from being remounted read-only. NFS locks no
    # other.
    for mode in (os.O_RDONLY, os.O_RDWR):
        lock = os.open(path, mode)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except OSError:
            os.close(lock)
    return None


def _changed(path: Path) -> float:
    """When anything in the folder changed last."""
    return max(each.lstat().st_mtime for each in (path, *path.rglob("*")))


def _size(path: Path) -> int:
    size = 0
    with contextlib.suppress(OSError):
        for each in path.rglob("*"):
            size += each.lstat().st_size if each.is_file() else 0
    return size
