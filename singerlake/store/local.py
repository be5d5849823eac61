"""A folder on a local (or mounted) disk as a store.

A new object is written beside the lake's folders, made durable, and then linked to its name,
which fails where the name is taken: so `create` needs no lock. A finished file that lies there
already is linked without a copy. Whatever changes or removes an object holds one lock file,
because a file system cannot compare before it replaces. Whether locks and links hold is tried
before the first write (`folder_trial`), and said aloud if not.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from singerlake.errors import (
    AlreadyExists,
    Changed,
    PermissionDenied,
    SingerlakeError,
    StoreError,
    Unavailable,
)
from singerlake.store import disk, folder_trial, turn
from singerlake.store.base import Data, Finished, Promise, Upload, in_hand
from singerlake.store.folder_trial import Kept
from singerlake.store.keys import is_lock
from singerlake.store.local_errors import explained
from singerlake.store.local_reader import OWN_FOLDER, LocalReader
from singerlake.store.probe import warn_weak

_LOCK_FILE = "lock"
_LOCK_SECONDS = 60.0  # held for one compare and one rename: longer means a stuck process

_NO_LOCKS = "the locks of its file system do not hold between processes"

# EPERM is what Linux answers on file systems without hard links (FAT, some network mounts).
_NO_LINK = {
    errno.EPERM,
    errno.ENOTSUP,
    errno.EOPNOTSUPP,
    errno.ENOSYS,
    errno.EMLINK,
    errno.EXDEV,
}


class LocalStore(LocalReader):
    """Keys are paths under `root`, which the first write makes.

    Versions are SHA-256 hashes; those of a listing, which reads no file, are size and time.
    """

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self._own = self._root / OWN_FOLDER
        self._found: Kept | None = None

    @property
    def own_folder(self) -> Path:
        """What lies there is not in the lake."""
        return self._own

    @property
    def writes_at_once(self) -> int:
        return 2

    def spool_folder(self) -> Path | None:
        """Its own folder, where files can be linked, and where a lock tells whose process lives."""
        if os.name == "nt" or self._link(self._own):
            return None
        with contextlib.suppress(SingerlakeError, OSError):  # what cannot be written tells why
            kept = self._kept()
            disk.make_folder(self._own)  # somebody may have tidied up since
            return self._own if kept.links and kept.locks else None
        return None

    def promise(self) -> Promise:
        """Best effort where locks do not hold. Tried once for each folder and host."""
        try:
            return Promise.CONDITIONAL if self._kept().locks else Promise.BEST_EFFORT
        except PermissionDenied:  # who cannot write has no use for more
            return Promise.CONDITIONAL

    def oddities(self) -> list[str]:
        with explained(self._own):
            disk.make_folder(self._own)
            kept = self._found = folder_trial.renew(self._own)
        found = []
        if not kept.locks:
            found.append(
                f"{_NO_LOCKS}: mount it with locks (NFS: not `nolock`, and with a lock service), "
                "or let one writer at a time write a stream"
            )
        if not kept.links:
            found.append("a hard link takes a name that is taken: names are given under a lock")
        return found

    def _kept(self) -> Kept:
        if self._found is None:
            if self._link(self._own):
                return folder_trial.ON_TRUST  # nothing is written there: a write is refused
            with explained(self._own):
                disk.make_folder(self._own)
                self._found = folder_trial.find(self._own)
            if not self._found.locks:
                warn_weak(self.url, _NO_LOCKS)
        return self._found

    def create(self, key: str, data: Data) -> str:
        if isinstance(data, Finished) and self._own in data.path.parents:
            path = self._path_to_write(key)
            with explained(path):
                disk.sync_file(data.path)
                if self._linked(data.path, path):
                    return data.sha256
        return self._create(key, in_hand(data))

    def create_from(self, key: str, upload: Upload) -> str:
        with upload.open() as source:
            return self._create(key, source)

    def _create(self, key: str, data: bytes | Path | BinaryIO) -> str:
        path, durable = self._path_to_write(key), not is_lock(key)
        with explained(path), self._temporary(data, durable) as (temporary, version):
            if not self._linked(temporary, path, durable):
                self._move_new(temporary, path, durable)
        return version

    def _linked(self, source: Path, path: Path, durable: bool = True) -> bool:
        """Whether the file has its name now; not where the file system cannot link it."""
        if not self._kept().links:
            return False
        try:
            disk.link_new(source, path, durable)
        except FileExistsError:
            raise AlreadyExists(f"{path} exists already") from None
        except OSError as error:
            if error.errno not in _NO_LINK:
                raise
            return False
        return True

    def replace(self, key: str, data: bytes, version: str) -> str:
        path, durable = self._path_to_write(key), not is_lock(key)
        with explained(path):
            _require(path, version)  # early, so that a refusal costs no write
            with self._temporary(data, durable) as (temporary, new_version), self._locked():
                _require(path, version)
                temporary.replace(path)
                if durable:
                    disk.sync_folder(path.parent)
        return new_version

    def delete(self, key: str) -> None:
        path = self._path_to_write(key)
        with explained(path):
            if path.is_file():  # else nothing is to do, and a lock would make the root
                with self._locked():
                    self._remove(path, durable=not is_lock(key))

    def delete_if(self, key: str, version: str) -> None:
        path = self._path_to_write(key)
        with explained(path):
            _require(path, version)
            with self._locked():
                _require(path, version)
                self._remove(path, durable=not is_lock(key))

    def sweep(self, older_than: timedelta, folder: str) -> int:
        if self._link(self._own):
            return 0
        limit = time.time() - older_than.total_seconds()
        with explained(self._own):  # folders are of writers, and have locks that tell who lives
            return disk.remove_old(self._own, limit, _LOCK_FILE)

    def _path_to_write(self, key: str) -> Path:
        path = self._path(key)
        for link in (self._link(path), self._link(self._own)):
            if link:
                raise StoreError(
                    f"{link} is a symbolic link, and a lake's folder has none: put the folder "
                    "itself there"
                )
        with explained(path):
            if path.exists() and not (path.is_file() or path.is_dir()):
                raise StoreError(
                    f"{path} is a pipe, a socket or a device: a lake's folder has none"
                )
        return path

    @contextlib.contextmanager
    def _temporary(
        self, data: bytes | Path | BinaryIO, durable: bool
    ) -> Iterator[tuple[Path, str]]:
        """A copy of the data on the root's file system, and its version."""
        disk.make_folder(self._own)
        path = self._own / uuid.uuid4().hex
        try:
            yield path, disk.write_new(path, data, durable)
        finally:
            path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if not self._kept().locks:
            yield
            return
        disk.make_folder(self._own)  # somebody may have tidied up since
        lock = self._own / _LOCK_FILE
        with contextlib.ExitStack() as held:
            try:
                held.enter_context(turn.taken(lock, _LOCK_SECONDS))
            except turn.NotInTime:
                raise Unavailable(
                    f"{lock} has been locked by another process for {_LOCK_SECONDS:.0f} s"
                ) from None
            yield

    def _move_new(self, temporary: Path, path: Path, durable: bool) -> None:
        """What `create` does where the file system has no hard links."""
        with self._locked():
            disk.make_folder(path.parent)
            if os.path.lexists(path):
                raise AlreadyExists(f"{path} exists already")
            temporary.replace(path)
            if durable:
                disk.sync_folder(path.parent)

    def _remove(self, path: Path, durable: bool) -> None:
        """Remove the file, and the folders that this leaves empty; the lock is held."""
        path.unlink(missing_ok=True)
        if durable:
            disk.sync_folder(path.parent)
        disk.prune(path.parent, self._root)

    def __getstate__(self) -> dict[str, Any]:
        """Another host may have the folder by another mount."""
        return {**vars(self), "_found": None}


def _require(path: Path, version: str) -> None:
    try:
        found = disk.listed_version(path.stat()) if "-" in version else disk.file_hash(path)
    except disk.MISSING:
        raise Changed(f"{path} is gone") from None
    if found != version:
        raise Changed(f"{path} is version {found[:12]} now, not {version[:12]}")
