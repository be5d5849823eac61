"""A connection that each process makes for itself, when it first needs one."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class PerProcess(Generic[T]):
    """Makes its value at the first `get` in a process, also after a fork or unpickling.

    Two threads that are first together may both make one; either works, and one is kept.
    """

    def __init__(self, make: Callable[[], T]) -> None:
        self._make = make
        self._made: tuple[int, T] | None = None

    def get(self) -> T:
        made = self._made
        if made is None or made[0] != os.getpid():
            made = self._made = (os.getpid(), self._make())
        return made[1]

    def forget(self) -> None:
        """Make another one at the next `get`. Whoever has the old one keeps it."""
        self._made = None

    def __getstate__(self) -> dict[str, Any]:
        return {"_make": self._make, "_made": None}
