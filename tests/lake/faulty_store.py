"""Stores that fail on purpose: they die, lose answers, or stop a writer where a test wants it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from singerlake.errors import SingerlakeError
from singerlake.store import Listed, Promise, Store, Stored, StoreWrapper, Upload

Result = TypeVar("Result")


@dataclass(frozen=True)
class At:
    """Names operations: the method, and how the key ends (or what it contains)."""

    method: str
    ending: str = ""
    containing: str = ""

    def __call__(self, method: str, key: str) -> bool:
        return method == self.method and key.endswith(self.ending) and self.containing in key


LOCK_CREATE = At("create", "singerlake.lock")
LOCK_READ = At("read", "singerlake.lock")
LOCK_REPLACE = At("replace", "singerlake.lock")
LOCK_DELETE = At("delete_if", "singerlake.lock")
UPLOAD = At("create", ".singer.gz")
MANIFEST_READ = At("read", "manifest.json")
MANIFEST_CREATE = At("create", "manifest.json")
MANIFEST_REPLACE = At("replace", "manifest.json")
SEGMENT_CREATE = At("create", containing="/_segments/")
CATALOGUE_CREATE = At("create", "catalogue.json")
CATALOGUE_REPLACE = At("replace", "catalogue.json")
LAKE_CREATE = At("create", "raw/singerlake.json")
LAKE_REPLACE = At("replace", "raw/singerlake.json")


class Intercepting(StoreWrapper):
    """Every request goes through `around`, which a kind of fault overrides."""

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        return call()

    def read(self, key: str) -> Stored:
        return self.around("read", key, lambda: self.inner.read(key))

    def version(self, key: str) -> str:
        return self.around("version", key, lambda: self.inner.version(key))

    def size(self, key: str) -> int:
        return self.around("size", key, lambda: self.inner.size(key))

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return self.around("open", key, lambda: self.inner.open(key, size))

    def create(self, key: str, data: bytes | Path) -> str:
        return self.around("create", key, lambda: self.inner.create(key, data))

    def create_from(self, key: str, upload: Upload) -> str:
        return self.around("create_from", key, lambda: self.inner.create_from(key, upload))

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self.around("replace", key, lambda: self.inner.replace(key, data, version))

    def delete(self, key: str) -> None:
        self.around("delete", key, lambda: self.inner.delete(key))

    def delete_if(self, key: str, version: str) -> None:
        self.around("delete_if", key, lambda: self.inner.delete_if(key, version))

    def folders(self, prefix: str) -> list[str]:
        return self.around("folders", prefix, lambda: self.inner.folders(prefix))

    def list(self, prefix: str) -> Iterator[Listed]:
        return iter(self.around("list", prefix, lambda: [*self.inner.list(prefix)]))

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        return iter(self.around("list", folder, lambda: [*self.inner.list_folder(folder, after)]))

    def sweep(self, older_than: timedelta, folder: str) -> int:
        return self.around("sweep", "", lambda: self.inner.sweep(older_than, folder))


class Died(BaseException):
    """The process is gone: no handler of ordinary errors sees this."""


class Crashing(Intercepting):
    """Dies before or after its N-th request, and answers nothing from then on, to no thread."""

    def __init__(self, inner: Store, at: int, after: bool) -> None:
        super().__init__(inner)
        self._left, self._after = at, after
        self._lock = threading.Lock()
        self.dead = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        with self._lock:
            if self.dead:
                raise Died
            self._left -= 1
            if self._left > 0:
                return call()
            self.dead = True
            if self._after:
                call()
            raise Died


@dataclass
class Lost:
    """Which answer is lost, and what comes in its place; `meanwhile` happens before that does."""

    at: At
    answer: type[SingerlakeError]
    meanwhile: Callable[[], object] = lambda: None
    times: int = 1


class LosingAnswers(Intercepting):
    """Performs a request, and then answers as if it had not been answered, or been refused."""

    def __init__(self, inner: Store, lost: Lost) -> None:
        super().__init__(inner)
        self.lost = lost
        self.happened = 0

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        result = call()
        if self.happened < self.lost.times and self.lost.at(method, key):
            self.happened += 1
            self.lost.meanwhile()
            raise self.lost.answer(f"lost on purpose: {method} {key}")
        return result


@dataclass
class Gate:
    """Where a thread stops: `reached` tells that it did, `open` lets it go on."""

    at: At
    before: bool = True
    reached: threading.Event = field(default_factory=threading.Event)
    opened: threading.Event = field(default_factory=threading.Event)

    def pass_through(self) -> None:
        if not self.reached.is_set():
            self.reached.set()
            assert self.opened.wait(60), f"nobody opened the gate at {self.at}"

    def wait(self) -> None:
        assert self.reached.wait(60), f"nobody came to the gate at {self.at}"

    def open(self) -> None:
        self.opened.set()


class Pausing(Intercepting):
    """Stops the first thread that comes to a gate, before or after the request."""

    def __init__(self, inner: Store, *gates: Gate) -> None:
        super().__init__(inner)
        self._gates = gates

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        gates = [gate for gate in self._gates if gate.at(method, key)]
        for gate in gates:
            if gate.before:
                gate.pass_through()
        result = call()
        for gate in gates:
            if not gate.before:
                gate.pass_through()
        return result


class Hooked(Intercepting):
    """Calls `hook` once, right after the first request of this kind has succeeded."""

    def __init__(
        self, inner: Store, at: Callable[[str, str], bool], hook: Callable[[], object]
    ) -> None:
        super().__init__(inner)
        self._at, self._hook = at, hook
        self.happened = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        result = call()
        if not self.happened and self._at(method, key):
            self.happened = True
            self._hook()
        return result


class Recording(Intercepting):
    """Keeps what was asked, in order."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.requests: list[tuple[str, str]] = []

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        self.requests.append((method, key))
        return call()

    def count(self, at: At) -> int:
        return sum(at(method, key) for method, key in list(self.requests))


class BestEffort(StoreWrapper):
    """Promises less than the store keeps."""

    def promise(self) -> Promise:
        return Promise.BEST_EFFORT


class Unlocked(StoreWrapper):
    """A lock that everybody gets, at once: what is left is the conditional commit."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._locks: dict[str, Stored] = {}

    def create(self, key: str, data: bytes | Path) -> str:
        if key.endswith("singerlake.lock") and isinstance(data, bytes):
            self._locks[key] = Stored(data, "mine")
            return "mine"
        return super().create(key, data)

    def read(self, key: str) -> Stored:
        return self._locks.get(key) or super().read(key)

    def delete_if(self, key: str, version: str) -> None:
        if self._locks.pop(key, None) is None:
            super().delete_if(key, version)


class StoppingProcess(Intercepting):
    """Writes a marker file at the first request of a kind, then waits until it is removed.

    A parent that sees the marker can stop this process there with SIGSTOP.
    """

    def __init__(self, inner: Store, at: At, before: bool, marker: Path) -> None:
        super().__init__(inner)
        self._at, self._before, self._marker = at, before, marker
        self._lock = threading.Lock()
        self._happened = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if not self._at(method, key):
            return call()
        if self._before:
            self._stop()
        result = call()
        if not self._before:
            self._stop()
        return result

    def _stop(self) -> None:
        with self._lock:
            if self._happened:
                return
            self._happened = True
        self._marker.touch()
        while self._marker.exists():
            time.sleep(0.01)


def in_thread(work: Callable[..., Any], *arguments: Any, **named: Any) -> Background:
    """Start work in a thread of its own."""
    background = Background(lambda: work(*arguments, **named))
    background.start()
    return background


class Background(threading.Thread):
    """A thread whose result, or error, comes out of `result`."""

    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._result: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        try:
            self._result = self._work()
        except BaseException as error:
            self._error = error

    def result(self) -> Any:
        self.join(60)
        assert not self.is_alive(), "the work did not end"
        if self._error is not None:
            raise self._error
        return self._result
