"""A dry run: a store that keeps every write to itself, so that work can be tried out on it."""

from __future__ import annotations

import contextlib
import threading
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from singerlake.errors import AlreadyExists, Changed, NotFound
from singerlake.store.base import Data, Listed, Promise, Store, Stored, Upload
from singerlake.store.keys import check_key
from singerlake.store.memory import MemoryStore
from singerlake.store.wrapper import StoreWrapper

_lock = threading.Lock()


class DryRun(StoreWrapper):
    """Reads from `inner`, which it never changes; what is written stays in memory.

    So it is for work that writes small documents.
    """

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        # Below kept/ what was written, below gone/ a mark for what was deleted.
        self._own = MemoryStore(f"dry-run-{uuid.uuid4().hex}")

    def spool_folder(self) -> Path | None:
        return None

    def promise(self) -> Promise:
        return Promise.CONDITIONAL  # `inner` might write a probe to find out

    def read(self, key: str) -> Stored:
        store, place = self._place(key)
        return store.read(place)

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        store, place = self._place(key)
        return store.read_if_changed(place, validator)

    def version(self, key: str) -> str:
        store, place = self._place(key)
        return store.version(place)

    def size(self, key: str) -> int:
        store, place = self._place(key)
        return store.size(place)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        store, place = self._place(key)
        return store.open(place, size)

    def create(self, key: str, data: Data) -> str:
        with _lock:
            if self._find(key) is not None:
                raise AlreadyExists(f"{self.url}/{key} exists already")
            return self._own.create(f"kept/{key}", data)

    def create_from(self, key: str, upload: Upload) -> str:
        return Store.create_from(self, key, upload)

    def replace(self, key: str, data: bytes, version: str) -> str:
        with _lock:
            self._require(key, version)
            self._own.delete(f"kept/{key}")
            return self._own.create(f"kept/{key}", data)

    def delete(self, key: str) -> None:
        self._own.delete(f"kept/{check_key(key)}")
        with contextlib.suppress(AlreadyExists):
            self._own.create(f"gone/{key}", b"")

    def delete_if(self, key: str, version: str) -> None:
        with _lock:
            self._require(key, version)
            self.delete(key)

    def folders(self, prefix: str) -> list[str]:
        ours = self._own.folders(f"kept/{prefix}".rstrip("/"))
        return sorted({*self.inner.folders(prefix), *ours})

    def list(self, prefix: str) -> Iterator[Listed]:
        ours = [
            replace(row, key=row.key.removeprefix("kept/"))
            for row in self._own.list(f"kept/{prefix}".rstrip("/"))
        ]
        gone = self._own.list(f"gone/{prefix}".rstrip("/"))
        hidden = {row.key for row in ours} | {row.key.removeprefix("gone/") for row in gone}
        # A bucket may hold what no key of ours can be: that is listed too.
        rest = [row for row in self.inner.list(prefix) if row.key not in hidden]
        yield from sorted([*ours, *rest], key=lambda row: row.key)

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        return Store.list_folder(self, folder, after)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        return 0

    def _place(self, key: str) -> tuple[Store, str]:
        """Where the object is, or would be."""
        check_key(key)
        for mark in ("kept", "gone"):
            with contextlib.suppress(NotFound):
                self._own.version(f"{mark}/{key}")
                return self._own, f"kept/{key}"
        return self.inner, key

    def _find(self, key: str) -> str | None:
        try:
            return self.version(key)
        except NotFound:
            return None

    def _require(self, key: str, version: str) -> None:
        listed = (row.version for row in self.list(key.rpartition("/")[0]) if row.key == key)
        if self._find(key) != version and version not in listed:
            raise Changed(f"{self.url}/{key} is gone, or is another version now")
