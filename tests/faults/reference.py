"""What a lake must hold, in memory beside it: for random histories."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import timedelta

from singerlake.errors import Unavailable
from singerlake.lake import Snapshot
from singerlake.store import Store, StoreWrapper
from tests.faults.truth import Violation
from tests.lake.landing import record_line, time_of

Clocks = tuple[timedelta, timedelta]


class DyingPurge(StoreWrapper):
    """Ends after some deletes."""

    def __init__(self, inner: Store, deletes: int) -> None:
        super().__init__(inner)
        self._left = deletes

    def delete(self, key: str) -> None:
        if not self._left:
            raise Unavailable("died")
        self._left -= 1
        super().delete(key)


def record_at(number: int, moment: int) -> bytes:
    """A record with the time of another."""
    own, other = (f"{time_of(each):%Y-%m-%dT%H:%M:%S}".encode() for each in (number, moment))
    return record_line(number).replace(own, other)


@dataclass
class Held:
    """A snapshot, and what it must give; `safe` until something was removed.

    `earliest` is how far back each clock was set since it was taken: that of the machines, and that
    of the store.
    """

    snapshot: Snapshot
    numbers: list[int]
    earliest: Clocks
    safe: bool = True

    def is_younger_than(self, grace: timedelta, now: Clocks) -> bool:
        """By either clock."""
        return any(at - since < grace for at, since in zip(now, self.earliest, strict=True))


@dataclass
class Reference:
    """What the lake must hold."""

    commits: list[list[int]] = field(default_factory=list)
    sent: set[int] = field(default_factory=set)
    """Sent and not acknowledged: these may come to be visible, once."""

    @property
    def numbers(self) -> list[int]:
        return [number for commit in self.commits for number in commit]


def require_same(there: list[int], wanted: list[int]) -> None:
    if lost := Counter(wanted) - Counter(there):
        raise Violation(f"LOST {sorted(lost)}")
    if more := Counter(there) - Counter(wanted):
        raise Violation(f"TWICE {sorted(more)}")
    if there != wanted:
        raise Violation(f"ORDER {there}, expected {wanted}")
