"""A lake's store that refuses to change what is read-only.

Every lake is opened on a guard, so that no writer and no repair can forget to look. The status
costs no request of its own: who opens a lake reads the lake document anyway, through the guard.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from singerlake.errors import NotFound
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamObject
from singerlake.lake import status as statuses
from singerlake.lake.status import Status
from singerlake.runtime import REAL, Runtime
from singerlake.store import Data, Store, Stored, StoreWrapper, Upload

LOOK_EVERY = 300.0
"""Seconds after which a writer at work looks at the status again."""


class WriteGuard(StoreWrapper):
    """Refuses each write with `ReadOnly` while the lake is read-only, by the last look.

    A lock may be deleted at any time: who held it when the lake was set read-only lets it go.
    """

    def __init__(self, inner: Store, runtime: Runtime = REAL) -> None:
        super().__init__(inner)
        self._runtime = runtime
        self._status = Status()
        self._looked: float | None = None

    def require_writable(self) -> None:
        """Raises `ReadOnly`. Asks the store only where the last look was too long ago."""
        if self._looked is None or self._runtime.monotonic() - self._looked >= LOOK_EVERY:
            looked = self._runtime.monotonic()
            self._note(statuses.read(self.inner), looked)
        if self._status.is_read_only:
            raise statuses.refusal(self.url, self._status)

    def _note(self, status: Status, looked: float) -> None:
        self._status, self._looked = status, looked

    def read(self, key: str) -> Stored:
        if key != key_names.LAKE_DOCUMENT:
            return self.inner.read(key)
        looked = self._runtime.monotonic()
        try:
            stored = self.inner.read(key)
        except NotFound:
            self._note(Status(), looked)
            raise
        self._note(statuses.status_in(stored.data, self.url), looked)
        return stored

    def create(self, key: str, data: Data) -> str:
        self.require_writable()
        return self.inner.create(key, data)

    def create_from(self, key: str, upload: Upload) -> str:
        self.require_writable()
        return self.inner.create_from(key, upload)

    def replace(self, key: str, data: bytes, version: str) -> str:
        self.require_writable()
        return self.inner.replace(key, data, version)

    def delete(self, key: str) -> None:
        self.require_writable()
        self.inner.delete(key)

    def delete_if(self, key: str, version: str) -> None:
        if not _is_lock(key):
            self.require_writable()
        self.inner.delete_if(key, version)

    def sweep(self, older_than: timedelta, folder: str) -> int:
        self.require_writable()
        return self.inner.sweep(older_than, folder)

    def __getstate__(self) -> dict[str, Any]:
        """Another process has a clock of its own: it looks itself."""
        return {**vars(self), "_looked": None}


def _is_lock(key: str) -> bool:
    parsed = key_names.parse(key)
    return isinstance(parsed, StreamObject) and parsed.kind == "lock"


def guarded(store: Store, runtime: Runtime = REAL) -> Store:
    """The store of a lake, guarded once."""
    return store if isinstance(store, WriteGuard) else WriteGuard(store, runtime)


def unguarded(store: Store) -> Store:
    """For who changes the status itself."""
    return store.inner if isinstance(store, WriteGuard) else store


def require_writable(store: Store) -> None:
    """On opening, before any work is done in vain. Raises `ReadOnly`."""
    if isinstance(store, WriteGuard):
        store.require_writable()
