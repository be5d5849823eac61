"""A folder on a local (or mounted) disk as a store.

Symbolic links below the root are not followed: what lies behind one is not in the store.

A new object is written beside the lake's folders, made durable, and then linked to its name,
which fails where the name is taken: so `create` needs no lock. Whatever changes or removes
an object holds one lock file, because a file system cannot compare before it replaces. Whether
locks and links hold is tried before the first write (`folder_trial`), and said aloud if not.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
import uuid
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

from singerlake.errors import (
    AlreadyExists,
    BadName,
    Changed,
    NotFound,
    PermissionDenied,
    StoreError,
    Unavailable,
)
from singerlake.store import disk, folder_trial, turn
from singerlake.store.base import Listed, Promise, Store, Stored, Upload, require_document
from singerlake.store.folder_trial import Kept
from singerlake.store.keys import check_key, check_prefix
from singerlake.store.local_errors import explained
from singerlake.store.probe import warn_weak

_OWN_FOLDER = ".singerlake-tmp"
_LOCK_FILE = "lock"
_LOCK_SECONDS = 60.0  # held for one compare and one rename: longer means a stuck process

_NO_LOCKS = "the locks of its file system do not hold between processes"

# EPERM is what Linux answers on file systems without hard links (FAT, some network mounts).
_NO_HARD_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


class LocalStore(Store):
    """Keys are paths under `root`, which the first write makes.

    Versions are SHA-256 hashes; those of a listing, which reads no file, are size and time.
    """

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._own = self._root / _OWN_FOLDER
        self._found: Kept | None = None

    @property
    def url(self) -> str:
        return str(self._root)

    @property
    def writes_at_once(self) -> int:
        return 2

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

    def read(self, key: str) -> Stored:
        path = self._path_to_read(key)
        with explained(path), disk.open_file(path) as file:
            require_document(os.fstat(file.fileno()).st_size, str(path))
            data = file.read()
        return Stored(data, hashlib.sha256(data).hexdigest())

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        path = self._path_to_read(key)
        with explained(path):
            # Most did not change, and to look costs a part of what it costs to open.
            if validator and disk.validator(path.lstat(), time.time()) == validator:
                return None
            with disk.open_file(path) as file:
                status = os.fstat(file.fileno())
                require_document(status.st_size, str(path))
                data = file.read()
        stored = Stored(data, hashlib.sha256(data).hexdigest())
        return stored, disk.validator(status, time.time())

    def version(self, key: str) -> str:
        path = self._path_to_read(key)
        with explained(path):
            return disk.file_hash(path)

    def size(self, key: str) -> int:
        path = self._path_to_read(key)
        with explained(path), disk.open_file(path) as file:
            return os.fstat(file.fileno()).st_size

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        path = self._path_to_read(key)
        with explained(path):
            return disk.open_file(path)

    def create(self, key: str, data: bytes | Path) -> str:
        return self._create(key, data)

    def create_from(self, key: str, upload: Upload) -> str:
        with upload.open() as source:
            return self._create(key, source)

    def _create(self, key: str, data: bytes | Path | BinaryIO) -> str:
        path = self._path_to_write(key)
        with explained(path), self._temporary(data) as (temporary, version):
            if not self._kept().links:
                self._move_new(temporary, path)
                return version
            try:
                disk.link_new(temporary, path)
            except FileExistsError:
                raise AlreadyExists(f"{path} exists already") from None
            except OSError as error:
                if error.errno not in _NO_HARD_LINKS:
                    raise
                self._move_new(temporary, path)
        return version

    def replace(self, key: str, data: bytes, version: str) -> str:
        path = self._path_to_write(key)
        with explained(path):
            _require(path, version)  # early, so that a refusal costs no write
            with self._temporary(data) as (temporary, new_version), self._locked():
                _require(path, version)
                temporary.replace(path)
                disk.sync_folder(path.parent)
        return new_version

    def delete(self, key: str) -> None:
        path = self._path_to_write(key)
        with explained(path):
            if path.is_file():  # else nothing is to do, and a lock would make the root
                with self._locked():
                    self._remove(path)

    def delete_if(self, key: str, version: str) -> None:
        path = self._path_to_write(key)
        with explained(path):
            _require(path, version)
            with self._locked():
                _require(path, version)
                self._remove(path)

    def folders(self, prefix: str) -> list[str]:
        folder = self._root / check_prefix(prefix)
        if self._link(folder):
            return []
        with explained(folder):
            return sorted(entry.name for entry in disk.entries(folder) if entry.is_dir())

    def list(self, prefix: str) -> Iterator[Listed]:
        start = check_prefix(prefix)
        if not self._link(self._root / start):
            with explained(self._root / start):
                yield from disk.walk(self._root / start, start)

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        start = check_prefix(folder)
        if not self._link(self._root / start):
            with explained(self._root / start):
                yield from disk.files_after(self._root / start, start, after)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        limit = time.time() - older_than.total_seconds()
        removed = 0
        if self._link(self._own):
            return 0
        with explained(self._own):
            for path in self._own.glob("*"):
                with contextlib.suppress(FileNotFoundError):  # its writer has just finished
                    if path.name != _LOCK_FILE and path.stat().st_mtime < limit:
                        path.unlink()
                        removed += 1
        return removed

    def _path(self, key: str) -> Path:
        first = check_key(key).split("/")[0]
        if first == _OWN_FOLDER or (os.name == "nt" and ":" in key):
            raise BadName(f"{key!r} cannot be a key on a local disk")
        return self._root / key

    def _link(self, path: Path) -> Path | None:
        with explained(path):
            return disk.link_on_the_way(path, self._root)

    def _path_to_read(self, key: str) -> Path:
        path = self._path(key)
        if link := self._link(path):
            raise NotFound(f"there is no {path}: {link} is a symbolic link, which is not followed")
        return path

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
    def _temporary(self, data: bytes | Path | BinaryIO) -> Iterator[tuple[Path, str]]:
        """A durable copy of the data on the root's file system, and its version."""
        disk.make_folder(self._own)
        path = self._own / uuid.uuid4().hex
        try:
            yield path, disk.write_new(path, data)
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

    def _move_new(self, temporary: Path, path: Path) -> None:
        """What `create` does where the file system has no hard links."""
        with self._locked():
            disk.make_folder(path.parent)
            if os.path.lexists(path):
                raise AlreadyExists(f"{path} exists already")
            temporary.replace(path)
            disk.sync_folder(path.parent)

    def _remove(self, path: Path) -> None:
        """Remove the file, and the folders that this leaves empty; the lock is held."""
        path.unlink(missing_ok=True)
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
