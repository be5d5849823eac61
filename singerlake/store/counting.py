"""Counting requests, for benchmarks and for tests of how many a piece of work costs."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, BinaryIO

from singerlake.store.base import Data, Listed, Promise, Store, Stored, Upload
from singerlake.store.wrapper import StoreWrapper


class Counting(StoreWrapper):
    """Counts calls by the method's name; an S3 store sends one request for most of them."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def counts(self) -> Mapping[str, int]:
        """How often each method was called since the last `reset`."""
        with self._lock:
            return dict(self._counts)

    @property
    def total(self) -> int:
        """The calls of all methods together."""
        return sum(self.counts.values())

    def reset(self) -> None:
        """Begin at zero again."""
        with self._lock:
            self._counts.clear()

    def _count(self, name: str) -> Store:
        with self._lock:
            self._counts[name] += 1
        return self.inner

    def promise(self) -> Promise:
        return self._count("promise").promise()

    def read(self, key: str) -> Stored:
        return self._count("read").read(key)

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        return self._count("read_if_changed").read_if_changed(key, validator)

    def version(self, key: str) -> str:
        return self._count("version").version(key)

    def size(self, key: str) -> int:
        return self._count("size").size(key)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return self._count("open").open(key, size)

    def create(self, key: str, data: Data) -> str:
        return self._count("create").create(key, data)

    def create_from(self, key: str, upload: Upload) -> str:
        return self._count("create_from").create_from(key, upload)

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._count("replace").replace(key, data, version)

    def delete(self, key: str) -> None:
        self._count("delete").delete(key)

    def delete_if(self, key: str, version: str) -> None:
        self._count("delete_if").delete_if(key, version)

    def folders(self, prefix: str) -> list[str]:
        return self._count("folders").folders(prefix)

    def list(self, prefix: str) -> Iterator[Listed]:
        return self._count("list").list(prefix)

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        return self._count("list").list_folder(folder, after)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        return self._count("sweep").sweep(older_than, folder)

    def __getstate__(self) -> dict[str, Any]:
        return {"inner": self.inner}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["inner"])  # type: ignore[misc]
