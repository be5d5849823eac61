"""Reading a folder on a disk: symbolic links below its root are not followed, for what lies behind
one is not in the store."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from singerlake.errors import BadName, NotFound
from singerlake.store import disk
from singerlake.store.base import Listed, Store, Stored, require_document
from singerlake.store.keys import check_key, check_prefix
from singerlake.store.local_errors import explained

OWN_FOLDER = ".singerlake-tmp"


class LocalReader(Store):
    """What a store does that writes nothing."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()

    @property
    def url(self) -> str:
        return str(self._root)

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

    def _path(self, key: str) -> Path:
        first = check_key(key).split("/")[0]
        if first == OWN_FOLDER or (os.name == "nt" and ":" in key):
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
