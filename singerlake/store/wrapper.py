"""The base of stores that add something to another store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from singerlake.store.base import Data, Listed, Promise, Store, Stored, Upload


class StoreWrapper(Store):
    """Hands every call on to `inner`; a wrapper overrides what it changes."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    @property
    def url(self) -> str:
        return self.inner.url

    @property
    def writes_at_once(self) -> int:
        return self.inner.writes_at_once

    def spool_folder(self) -> Path | None:
        return self.inner.spool_folder()

    def promise(self) -> Promise:
        return self.inner.promise()

    def oddities(self) -> list[str]:
        return self.inner.oddities()

    def read(self, key: str) -> Stored:
        return self.inner.read(key)

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        return self.inner.read_if_changed(key, validator)

    def version(self, key: str) -> str:
        return self.inner.version(key)

    def size(self, key: str) -> int:
        return self.inner.size(key)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return self.inner.open(key, size)

    def create(self, key: str, data: Data) -> str:
        return self.inner.create(key, data)

    def create_from(self, key: str, upload: Upload) -> str:
        return self.inner.create_from(key, upload)

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self.inner.replace(key, data, version)

    def delete(self, key: str) -> None:
        self.inner.delete(key)

    def delete_if(self, key: str, version: str) -> None:
        self.inner.delete_if(key, version)

    def folders(self, prefix: str) -> list[str]:
        return self.inner.folders(prefix)

    def list(self, prefix: str) -> Iterator[Listed]:
        return self.inner.list(prefix)

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        return self.inner.list_folder(folder, after)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        return self.inner.sweep(older_than, folder)
