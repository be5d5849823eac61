"""Trying again where a store gave no usable answer.

A retry of a conditional write can be refused because of its own success: the first attempt
was applied, and only its answer was lost. So a refusal that follows an unknown outcome is
checked by reading back, and is a success where the stored bytes are ours. That is sound
because writes that must be told apart differ in their bytes (see `Store`).
"""

from __future__ import annotations

import contextlib
import io
import logging
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO, TypeVar

from singerlake.errors import (
    AlreadyExists,
    Changed,
    NotFound,
    OutcomeUnknown,
    SingerlakeError,
    StoreError,
    Unavailable,
)
from singerlake.store.base import Data, Finished, Listed, Promise, Store, Stored, Upload
from singerlake.store.stream import FileSource, reader
from singerlake.store.wrapper import StoreWrapper

T = TypeVar("T")

logger = logging.getLogger("singerlake.store")

_BLOCK = 1 << 20


@dataclass(frozen=True)
class RetryPolicy:
    """How often to try, and how long to wait between.

    A store that has never answered may have a wrong address: that is told within half a minute
    by default. One that has answered before will be back: it is given at least three quarters
    of a minute, and at most twice that.
    """

    attempts: int = 8
    first_delay: float = 0.25
    max_delay: float = 20.0
    attempts_after_an_answer: int | None = None

    def delay(self, failures: int, chance: float) -> float:
        """Seconds to wait after so many failures: half of it, and by chance, in [0, 1), more."""
        longest = min(self.max_delay, self.first_delay * 2.0 ** (failures - 1))
        return (1 + chance) / 2 * longest


DEFAULT = RetryPolicy(attempts_after_an_answer=11)


def _chance() -> float:
    return random.random()


class Retrying(StoreWrapper):
    """Sends a call again after `Unavailable`, and tells a lost answer from a refusal.

    After an unknown outcome, only a confirmed answer is passed on: where the attempts end
    without one, `OutcomeUnknown` is raised, whatever the last error was.
    """

    def __init__(
        self,
        inner: Store,
        policy: RetryPolicy | None = None,
        sleep: Callable[[float], None] = time.sleep,
        chance: Callable[[], float] = _chance,
    ) -> None:
        super().__init__(inner)
        self._policy = policy or DEFAULT
        self._has_answered = False
        self._sleep = sleep
        self._chance = chance

    def promise(self) -> Promise:
        return self._retry("promise", self.inner.promise)

    def read(self, key: str) -> Stored:
        return self._retry(f"read {key}", lambda: self.inner.read(key))

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        return self._retry(f"read {key}", lambda: self.inner.read_if_changed(key, validator))

    def version(self, key: str) -> str:
        return self._retry(f"version {key}", lambda: self.inner.version(key))

    def size(self, key: str) -> int:
        return self._retry(f"size {key}", lambda: self.inner.size(key))

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        def opened() -> BinaryIO:
            return self.inner.open(key, size)

        what = f"open {key}"
        file = self._retry(what, opened)
        return reader(_ReopeningSource(file, opened, lambda act: self._retry(what, act)), _BLOCK)

    def create(self, key: str, data: Data) -> str:
        return self._write(
            f"create {key}",
            lambda: self.inner.create(key, data),
            AlreadyExists,
            lambda: self._version_if_equal(key, data),
        )

    def create_from(self, key: str, upload: Upload) -> str:
        return self._write(
            f"create {key}",
            lambda: self.inner.create_from(key, upload),
            AlreadyExists,
            lambda: self._version_if_equal(key, upload),
        )

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._write(
            f"replace {key}",
            lambda: self.inner.replace(key, data, version),
            Changed,
            lambda: self._version_if_equal(key, data),
        )

    def delete(self, key: str) -> None:
        self._retry(f"delete {key}", lambda: self.inner.delete(key))

    def delete_if(self, key: str, version: str) -> None:
        self._write(
            f"delete {key}",
            lambda: self.inner.delete_if(key, version),
            Changed,
            lambda: self._gone(key) or None,
        )

    def folders(self, prefix: str) -> list[str]:
        return self._retry(f"list {prefix}", lambda: self.inner.folders(prefix))

    def list(self, prefix: str) -> Iterator[Listed]:
        # Whole, because a page that fails in the middle cannot be asked for alone.
        yield from self._retry(f"list {prefix}", lambda: [*self.inner.list(prefix)])

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        what = f"list {folder}"
        yield from self._retry(what, lambda: [*self.inner.list_folder(folder, after)])

    def sweep(self, older_than: timedelta, folder: str) -> int:
        return self._retry("sweep", lambda: self.inner.sweep(older_than, folder))

    def _write(
        self,
        what: str,
        action: Callable[[], T],
        refusal: type[StoreError],
        confirm: Callable[[], object],
    ) -> T:
        """Retry a conditional write; `confirm` gives its result if it was applied, or None."""
        lost: list[OutcomeUnknown] = []

        def attempt() -> T:
            try:
                return action()
            except OutcomeUnknown as error:
                lost.append(error)
                raise
            except refusal:
                if lost and (result := confirm()) is not None:
                    return result  # type: ignore[return-value]
                raise

        try:
            return self._retry(what, attempt)
        except (refusal, OutcomeUnknown):
            raise
        except SingerlakeError as error:
            if not lost:
                raise
            raise OutcomeUnknown(f"{lost[-1]}; the next attempt failed: {error}") from error

    def _retry(self, what: str, action: Callable[[], T]) -> T:
        begin = time.monotonic()
        attempt = 1
        while True:
            try:
                return self._answered(action)
            except Unavailable as error:
                attempts = self._attempts()
                if attempt >= attempts:
                    seconds = time.monotonic() - begin
                    tries = f"gave up after {attempt} attempts in {seconds:.1f} s"
                    raise type(error)(f"{error} ({tries})") from error
                delay = self._policy.delay(attempt, self._chance())
                logger.log(
                    logging.INFO if attempt == 1 else logging.WARNING,
                    "%s: attempt %d of %d failed, next in %.1f s: %s",
                    what,
                    attempt,
                    attempts,
                    delay,
                    error,
                )
            self._sleep(delay)
            attempt += 1

    def _answered(self, action: Callable[[], T]) -> T:
        """A refusal is an answer too."""
        try:
            result = action()
        except Unavailable:
            raise
        except StoreError:
            self._has_answered = True
            raise
        self._has_answered = True
        return result

    def _attempts(self) -> int:
        more = self._policy.attempts_after_an_answer if self._has_answered else None
        return more or self._policy.attempts

    def _version_if_equal(self, key: str, data: Data | Upload) -> str | None:
        """The stored object's version where its bytes are ours, else None."""
        with contextlib.suppress(NotFound):
            version = self.inner.version(key)
            with _reader(data) as ours, self.inner.open(key) as theirs:
                return version if _equal(ours, theirs) else None
        return None

    def _gone(self, key: str) -> bool:
        try:
            self.inner.version(key)
        except NotFound:
            return True
        return False


class _ReopeningSource(FileSource):
    """Opens the object anew where a read fails, and goes on at the same offset."""

    def __init__(
        self,
        file: BinaryIO,
        opened: Callable[[], BinaryIO],
        retry: Callable[[Callable[[], bytes]], bytes],
    ) -> None:
        super().__init__(file)
        self._opened = opened
        self._retry = retry
        self._broken = False

    def fetch(self, offset: int, length: int) -> bytes:
        return self._retry(lambda: self._fetch_once(offset, length))

    def _fetch_once(self, offset: int, length: int) -> bytes:
        if self._broken:
            with contextlib.suppress(StoreError, OSError):
                self._file.close()
            self._file = self._opened()
        self._broken = True
        data = super().fetch(offset, length)
        self._broken = False
        return data


def _reader(data: Data | Upload) -> BinaryIO:
    if isinstance(data, Finished):
        data = data.path
    if isinstance(data, bytes):
        return io.BytesIO(data)
    return data.open("rb") if isinstance(data, Path) else data.open()


def _equal(ours: BinaryIO, theirs: BinaryIO) -> bool:
    while block := ours.read(_BLOCK):
        if theirs.read(len(block)) != block:
            return False
    return not theirs.read(1)
