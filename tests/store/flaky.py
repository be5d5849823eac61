"""A stand-in for a store whose answers get lost, by script."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO, TypeVar

from singerlake.errors import OutcomeUnknown, Unavailable
from singerlake.store import Stored, StoreWrapper

T = TypeVar("T")

FAIL = "fail"  # the request does not arrive
LOSE = "lose"  # it arrives, and its answer is lost
BUSY = "busy"  # it is refused for now, for sure


class Flaky(StoreWrapper):
    """Plays one step of `script` for each call, then works."""

    def __init__(self, inner: StoreWrapper | object, *script: str | Exception) -> None:
        super().__init__(inner)  # type: ignore[arg-type]
        self.script = [*script]
        self.calls: list[str] = []

    def _play(self, name: str, action: Callable[[], T], write: bool) -> T:
        self.calls.append(name)
        step = self.script.pop(0) if self.script else None
        if isinstance(step, Exception):
            raise step
        if step == BUSY:
            raise Unavailable("busy")
        result = action() if step in (None, LOSE) else None
        if step in (FAIL, LOSE):
            raise (OutcomeUnknown if write else Unavailable)(f"{name}: no answer")
        return result  # type: ignore[return-value]

    def read(self, key: str) -> Stored:
        return self._play("read", lambda: self.inner.read(key), False)

    def open(self, key: str, size: int | None = None) -> BinaryIO:
        return self._play("open", lambda: self.inner.open(key, size), False)

    def create(self, key: str, data: bytes | Path) -> str:
        return self._play("create", lambda: self.inner.create(key, data), True)

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._play("replace", lambda: self.inner.replace(key, data, version), True)

    def delete_if(self, key: str, version: str) -> None:
        return self._play("delete_if", lambda: self.inner.delete_if(key, version), True)
