"""STATE messages that wait for the commits of the records before them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence

MOST = 100
"""States that wait at once: a tap's state may be large, and a newer one covers the older."""


class HeldStates:
    """States in the order in which they came, each with the number of the work it waits for.

    A state is due once no work up to its number is pending (see `singerlake.lake.pending`). Of
    several states that wait for the same work, only the newest is held.
    """

    def __init__(self) -> None:
        self._held: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._held)

    def add(self, number: int, state: bytes) -> None:
        """Hold a state until everything up to this number is settled."""
        # An older state that waits for as much is of no use, for this state comes out with it.
        while self._held and (next(reversed(self._held)) >= number or len(self._held) >= MOST):
            self._held.popitem()
        self._held[number] = state

    def due(self, pending: Sequence[int]) -> bytes | None:
        """Take out the newest state that waits for nothing of `pending`, which is ascending."""
        held: dict[int, bytes] = {}
        for number, state in self._held.items():
            at = bisect_right(pending, number)
            held[pending[at - 1] if at else 0] = state
        self._held = held
        return held.pop(0, None)
