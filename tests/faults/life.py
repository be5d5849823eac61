"""Time and identifiers, as simulated processes have them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import Any

START = datetime(2100, 1, 1, tzinfo=timezone.utc)
"""When processes live: a little later than all that lies in a store of theirs."""


@dataclass
class Life:
    """What one simulated process knows of time, and how many identifiers it has taken."""

    number: int = 0
    now: float = 0.0
    taken: int = 0


class World:
    """Whose turn it is: only one process runs at any moment."""

    def __init__(self) -> None:
        self.outside = Life()
        self.current = self.outside
        self.backwards = False
        """Whether work that is done side by side is done from its end: any order can happen."""
        self.shift = timedelta(0)
        """How far somebody has set the clocks of the machines, not that of the store."""

    # What the product sees as the module `time`:

    def monotonic(self) -> float:
        return self.current.now

    def sleep(self, seconds: float) -> None:
        """Every wait takes a second at least, so that few of them make a lock stale."""
        self.current.now += max(1.0, seconds)

    # What it sees as the module `uuid`, and as the clock:

    def uuid4(self) -> uuid.UUID:
        self.current.taken += 1
        return uuid.UUID(f"{self.current.number:02x}{self.current.taken:06x}" + 24 * "0")

    def now(self) -> datetime:
        self.current.taken += 1
        passed = timedelta(seconds=self.current.number, microseconds=self.current.taken)
        return START + self.shift + passed

    # And as `in_parallel`: results in the order of the items, all on the caller's thread.

    def in_parallel(self, work: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        if not self.backwards:
            return map(work, items)
        return reversed([work(item) for item in reversed(list(items))])
