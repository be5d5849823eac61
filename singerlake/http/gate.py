"""A gate: so many requests work, so many wait, the others are sent away at once."""

from __future__ import annotations

import asyncio
from collections import deque

from singerlake.http.answer import Problem


class Gate:
    """For one event loop. First come, first served."""

    def __init__(self, working: int, waiting: int) -> None:
        self._free, self._most_waiting = working, waiting
        self._waiters: deque[asyncio.Future[None]] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiters)

    async def enter(self) -> None:
        """Raises `Problem` 503 where too many wait already."""
        if self._free > 0:
            self._free -= 1
            return
        if len(self._waiters) >= self._most_waiting:
            raise Problem(
                503,
                "Busy",
                "too many requests wait already: send this one again later",
                [(b"retry-after", b"1")],
            )
        turn = asyncio.get_running_loop().create_future()
        self._waiters.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.leave()  # the turn came at the moment of the cancellation
            else:
                self._waiters.remove(turn)
            raise

    def leave(self) -> None:
        """Give the place to the one who waits longest."""
        while self._waiters:
            turn = self._waiters.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1
