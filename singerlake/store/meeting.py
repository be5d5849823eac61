"""Two hosts, or more, that write one object at once: none of their writes may be lost.

Only they can tell whether a lock of one holds the others back. Each counts its own writes in an
object that all replace, and sees in it whether another has overwritten one.
"""

from __future__ import annotations

import json
import time
import uuid
from dataclasses import dataclass, field

from singerlake.errors import AlreadyExists, Changed, NotFound, StoreError
from singerlake.store.base import Store, Stored

KEY = "singerlake-doctor-meeting/counter"


class Lost(StoreError):
    """A write that succeeded was overwritten unseen."""


@dataclass
class Guest:
    """One of those who write. `mine` counts its own writes; `others` has what it saw of theirs:
    how many there were at the first look, and at the last."""

    store: Store
    me: str = field(default_factory=lambda: uuid.uuid4().hex)
    mine: int = 0
    others: dict[str, tuple[int, int]] = field(default_factory=dict)

    def meet(self, seconds: float) -> tuple[int, int]:
        """Write for so long; returns how often this one has written, and the others meanwhile.

        Raises `Lost`.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.write()
        self.leave()
        return self.mine, sum(last - first for first, last in self.others.values())

    def write(self) -> None:
        """Count one more, unless another is quicker."""
        stored, counts = self._look()
        counts[self.me] = self.mine + 1
        if self._put(stored, counts):
            self.mine += 1

    def leave(self) -> None:
        """Take away what is ours, and the object behind the last one."""
        while True:
            stored, counts = self._look()
            counts.pop(self.me, None)
            if stored is None or self._put(stored, counts):
                break
        if not counts and stored is not None:
            stored, counts = self._read()
            if stored is not None and not counts:
                self._remove(stored)

    def _look(self) -> tuple[Stored | None, dict[str, int]]:
        stored, counts = self._read()
        found = counts.get(self.me, 0)
        if found != self.mine:
            raise Lost(
                f"of {self.mine} writes of this host {found} are there: another has overwritten "
                "the rest unseen. Let one host at a time write here, or mount it with locks that "
                "hold between hosts"
            )
        for name in counts.keys() - {self.me}:
            first, _ = self.others.get(name, (counts[name], 0))
            self.others[name] = first, counts[name]
        return stored, counts

    def _read(self) -> tuple[Stored | None, dict[str, int]]:
        try:
            stored = self.store.read(KEY)
        except NotFound:
            return None, {}
        return stored, json.loads(stored.data)

    def _put(self, stored: Stored | None, counts: dict[str, int]) -> bool:
        data = json.dumps(counts).encode()
        try:
            if stored is None:
                self.store.create(KEY, data)
            else:
                self.store.replace(KEY, data, stored.version)
        except (AlreadyExists, Changed):
            return False
        return True

    def _remove(self, stored: Stored) -> None:
        try:
            self.store.delete_if(KEY, stored.version)
        except Changed:
            return  # somebody came
