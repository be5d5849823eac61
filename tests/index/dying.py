"""A storage whose user dies at a step of a change: before any of its parts, or right behind it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from singerlake.index.storage.base import Change, Storage

STEPS = ("clear", "add", "hold", "lose", "end_run", "keep")


class Death(BaseException):
    """As kill -9: nobody catches it."""


class Dying:
    """Counts down at each step; at 0 the program is dead."""

    newest: Dying
    """For what is broken on purpose, and has steps of its own."""

    def __init__(self, storage: Storage) -> None:
        self._storage = storage
        self.left: int | None = None
        self.deaths = 0
        Dying.newest = self

    def __getattr__(self, name: str) -> Any:
        return getattr(self._storage, name)

    def step(self) -> None:
        if self.left is None:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            self.deaths += 1
            self.die()

    def die(self) -> None:
        raise Death

    @contextmanager
    def change(self, tap: str, stream: str = "") -> Iterator[Change]:
        self.step()
        with self._storage.change(tap, stream) as change:
            yield _Steps(self, change)  # type: ignore[misc]
        self.step()


class Killed(Dying):
    """Its process is killed in the middle of the change: nothing of it runs on, and nothing is
    rolled back or closed."""

    def die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


class _Steps:
    def __init__(self, dying: Dying, change: Change) -> None:
        self._dying, self._change = dying, change

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._change, name)
        if name not in STEPS:
            return found

        def step(*values: Any) -> None:
            found(*values)
            self._dying.step()

        return step
