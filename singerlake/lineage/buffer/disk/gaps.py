"""Numbers that have no event: lost with a damaged file, or never used.

Every loss is counted by its numbers, once, however often the damage is met.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from singerlake.lineage.buffer.disk.state import State


class Gap(NamedTuple):
    first: int
    last: int
    lost: bool
    reason: str

    @property
    def size(self) -> int:
        return self.last - self.first + 1


class Gaps:
    """In memory, and in the state: few, for a healthy disk has none."""

    def __init__(self, state: State) -> None:
        self._state = state
        rows = state.rows("SELECT first, last, lost, reason FROM gaps ORDER BY first")
        self._gaps = [
            Gap(int(str(first)), int(str(last)), bool(lost), str(reason))
            for first, last, lost, reason in rows
        ]

    def note(self, ranges: Iterable[tuple[int, int]], lost: bool, reason: str, now: int) -> int:
        """Returns how many numbers are new here."""
        fresh = [Gap(*part, lost, reason) for each in ranges for part in self._unknown(*each)]
        if fresh:
            with self._state.change(durable=True) as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO gaps VALUES(?,?,?,?,?)",
                    [(gap.first, gap.last, gap.lost, gap.reason, now) for gap in fresh],
                )
            self._gaps = sorted([*self._gaps, *fresh])
        return sum(gap.size for gap in fresh)

    def _unknown(self, first: int, last: int) -> Iterator[tuple[int, int]]:
        """The parts of a range that no gap covers."""
        for gap in self._gaps:
            if gap.last < first or gap.first > last:
                continue
            if gap.first > first:
                yield first, gap.first - 1
            first = gap.last + 1
        if first <= last:
            yield first, last

    def covers(self, first: int, last: int) -> bool:
        return not list(self._unknown(first, last))

    def between(self, first: int, last: int) -> int:
        """How many numbers of a range have no event."""
        return sum(max(0, min(gap.last, last) - max(gap.first, first) + 1) for gap in self._gaps)

    @property
    def lost(self) -> int:
        return sum(gap.size for gap in self._gaps if gap.lost)

    def __iter__(self) -> Iterator[Gap]:
        return iter(self._gaps)


def ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """Ascending numbers, as ranges."""
    found: list[tuple[int, int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1] = (found[-1][0], number)
        else:
            found.append((number, number))
    return found
