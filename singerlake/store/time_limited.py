"""A time limit for stores that have none of their own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from singerlake.errors import OutcomeUnknown, Unavailable
from singerlake.store.base import Data, Listed, Promise, Store, Stored, Upload, in_hand
from singerlake.store.stream import FileSource, reader
from singerlake.store.wrapper import StoreWrapper

T = TypeVar("T")

_SLOWEST = 256 << 10  # bytes a second: an upload may take longer, the larger it is


class TimeLimited(StoreWrapper):
    """Gives up on a call after `seconds`; what it writes may still arrive later.

    The call goes on in a thread of its own, which nothing can stop: it is a daemon, so that
    it does not keep the process from ending.
    """

    def __init__(self, inner: Store, seconds: float) -> None:
        super().__init__(inner)
        self._seconds = seconds

    def _read(self, what: str, action: Callable[[], T]) -> T:
        return _limited(f"{what} in {self.url}", action, self._seconds, Unavailable)

    def _write(self, what: str, action: Callable[[], T], size: int = 0) -> T:
        seconds = self._seconds + size / _SLOWEST
        return _limited(f"{what} in {self.url}", action, seconds, OutcomeUnknown)

    def promise(self) -> Promise:
        return self._read("promise", self.inner.promise)

    def read(self, key: str) -> Stored:
        return self._read(f"reading {key}", lambda: self.inner.read(key))

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        return self._read(f"reading {key}", lambda: self.inner.read_if_changed(key, validator))

    def version(self, key: str) -> str:
        return self._read(f"reading {key}", lambda: self.inner.version(key))

    def size(self, key: str) -> int:
        return self._read(f"looking at {key}", lambda: self.inner.size(key))

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        what = f"reading {key}"
        file = self._read(what, lambda: self.inner.open(key, size))
        return reader(_LimitedSource(file, lambda action: self._read(what, action)), 1 << 20)

    def create(self, key: str, data: Data) -> str:
        held = in_hand(data)
        size = held.stat().st_size if isinstance(held, Path) else len(held)
        return self._write(f"creating {key}", lambda: self.inner.create(key, data), size)

    def create_from(self, key: str, upload: Upload) -> str:
        work = partial(self.inner.create_from, key, upload)
        return self._write(f"creating {key}", work, upload.size)

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._write(
            f"replacing {key}", lambda: self.inner.replace(key, data, version), len(data)
        )

    def delete(self, key: str) -> None:
        self._write(f"deleting {key}", lambda: self.inner.delete(key))

    def delete_if(self, key: str, version: str) -> None:
        self._write(f"deleting {key}", lambda: self.inner.delete_if(key, version))

    def folders(self, prefix: str) -> list[str]:
        return self._read(f"listing {prefix or '/'}", lambda: self.inner.folders(prefix))

    def list(self, prefix: str) -> Iterator[Listed]:
        yield from self._read(f"listing {prefix or '/'}", lambda: [*self.inner.list(prefix)])

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        what = f"listing {folder}"
        yield from self._read(what, lambda: [*self.inner.list_folder(folder, after)])

    def sweep(self, older_than: timedelta, folder: str) -> int:
        return self._write("sweeping", lambda: self.inner.sweep(older_than, folder))


class _LimitedSource(FileSource):
    """A file whose calls have a time limit, and which can be closed while one of them hangs."""

    def __init__(self, file: BinaryIO, limit: Callable[[Callable[[], Any]], Any]) -> None:
        super().__init__(file)
        self._limit = limit
        self._unanswered = False

    def fetch(self, offset: int, length: int) -> bytes:
        return self._answered(partial(super().fetch, offset, length))

    def size(self) -> int:
        return self._answered(super().size)

    def close(self) -> None:
        if self._unanswered:
            # A call that we gave up on may hold the file's lock for ever: close it whenever.
            _started(super().close)
        else:
            super().close()

    def _answered(self, action: Callable[[], T]) -> T:
        self._unanswered = True
        result: T = self._limit(action)
        self._unanswered = False
        return result


def _limited(what: str, action: Callable[[], T], seconds: float, error: type[Unavailable]) -> T:
    answer = _started(action)
    try:
        return answer.result(seconds)
    except FutureTimeout:
        if answer.done():  # at the last moment, or with a time-out of the action's own
            return answer.result()
        raise error(f"{what}: no answer in {seconds:.0f} s") from None


def _started(action: Callable[[], T]) -> Future[T]:
    """The answer to come of the action, which has begun in a thread of its own."""
    answer: Future[T] = Future()

    def work() -> None:
        try:
            answer.set_result(action())
        except BaseException as failure:
            answer.set_exception(failure)

    threading.Thread(target=work, name="singerlake-store", daemon=True).start()
    return answer
