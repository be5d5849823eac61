"""A store in this process's memory, for tests and trials."""

from __future__ import annotations

import hashlib
import io
import threading
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import BinaryIO

from singerlake.errors import AlreadyExists, Changed, NotFound
from singerlake.store.base import Data, Listed, Promise, Store, Stored, Upload, in_hand
from singerlake.store.keys import check_key, check_prefix, is_hidden

_lock = threading.Lock()
_stores: dict[str, dict[str, tuple[Stored, datetime]]] = {}


class MemoryStore(Store):
    """Two stores of one name hold the same objects, also after pickling in this process."""

    def __init__(self, name: str) -> None:
        self._name = name

    @property
    def url(self) -> str:
        return f"memory://{self._name}"

    @property
    def _objects(self) -> dict[str, tuple[Stored, datetime]]:
        return _stores.setdefault(self._name, {})

    def promise(self) -> Promise:
        return Promise.CONDITIONAL

    def read(self, key: str) -> Stored:
        check_key(key)
        with _lock:
            if key not in self._objects:
                raise NotFound(f"there is no {key} in {self.url}")
            return self._objects[key][0]

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return io.BytesIO(self.read(key).data)

    def create(self, key: str, data: Data) -> str:
        check_key(key)
        held = in_hand(data)
        content = held.read_bytes() if isinstance(held, Path) else held
        with _lock:
            if key in self._objects:
                raise AlreadyExists(f"{key} exists already in {self.url}")
            return self._put(key, content)

    def create_from(self, key: str, upload: Upload) -> str:
        with upload.open() as source:
            return self.create(key, source.read())

    def replace(self, key: str, data: bytes, version: str) -> str:
        check_key(key)
        with _lock:
            self._require(key, version)
            return self._put(key, data)

    def delete(self, key: str) -> None:
        check_key(key)
        with _lock:
            self._objects.pop(key, None)

    def delete_if(self, key: str, version: str) -> None:
        check_key(key)
        with _lock:
            self._require(key, version)
            del self._objects[key]

    def folders(self, prefix: str) -> list[str]:
        start = check_prefix(prefix)
        below = (row.key[len(start) :] for row in self.list(prefix))
        return sorted({key.split("/")[0] for key in below if "/" in key})

    def list(self, prefix: str) -> Iterator[Listed]:
        start = check_prefix(prefix)
        with _lock:
            rows = [
                Listed(key, len(stored.data), modified, stored.version)
                for key, (stored, modified) in self._objects.items()
                if key.startswith(start) and not is_hidden(key)
            ]
        yield from sorted(rows, key=lambda row: row.key)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        return 0

    def _put(self, key: str, data: bytes) -> str:
        version = hashlib.sha256(data).hexdigest()
        self._objects[key] = Stored(bytes(data), version), datetime.now(timezone.utc)
        return version

    def _require(self, key: str, version: str) -> None:
        if key not in self._objects:
            raise Changed(f"{key} in {self.url} is gone")
        if self._objects[key][0].version != version:
            raise Changed(f"{key} in {self.url} is another version now")
