"""Lanes: events of one root run keep their order, those of different runs are sent side by side."""

from __future__ import annotations

import threading
from collections import deque

from singerlake.lineage.buffer.disk.dead import Done, Refusal
from singerlake.lineage.buffer.disk.event import Stored
from singerlake.lineage.proxy.courier import Step

WINDOW = 1000
"""Events that are under way at most, past the one that holds the checkpoint."""


class Lanes:
    """One thread adds events in order, several take them, one asks how far all is done."""

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._changed = threading.Condition()
        self._waiting: dict[str, deque[Stored]] = {}
        self._ready: deque[str] = deque()
        self._open: dict[int, Step | None] = {}
        self._closed = False
        self._failure: Exception | None = None

    def add(self, lane: str, event: Stored, seconds: float) -> bool:
        """False where the window stayed full for so long."""
        with self._changed:
            if len(self._open) >= self._window:
                self._changed.wait(seconds)
                if len(self._open) >= self._window:
                    return False
            self._open[event.sequence] = None
            if lane in self._waiting:
                self._waiting[lane].append(event)
            else:
                # Nobody works on the lane: whoever takes it has it until `done`.
                self._waiting[lane] = deque([event])
                self._ready.append(lane)
                self._changed.notify_all()
            return True

    def take(self) -> tuple[str, Stored] | None:
        """The first event of a lane that nobody works on; None when all is over."""
        with self._changed:
            while not self._ready and not self._closed:
                self._changed.wait()
            if not self._ready or self._closed:
                return None
            lane = self._ready.popleft()
            return lane, self._waiting[lane][0]

    def done(self, lane: str, step: Step) -> None:
        """The event that was taken is sent, or refused: the lane's next may be taken."""
        with self._changed:
            event = self._waiting[lane].popleft()
            self._open[event.sequence] = step
            if self._waiting[lane]:
                self._ready.append(lane)
            else:
                del self._waiting[lane]
            self._changed.notify_all()

    def fail(self, error: Exception) -> None:
        """A worker cannot go on: its lane, and all that comes after its event, would wait."""
        with self._changed:
            self._failure = error
            self._changed.notify_all()

    def require_sound(self) -> None:
        """Raises what a worker failed with."""
        if self._failure is not None:
            raise self._failure

    def settled(self) -> Done | None:
        """What is done since the last call, as far as everything before it is done too.

        Without a gap in its numbers: what lies in a gap may have been dropped, and was not sent.
        """
        with self._changed:
            first = last = sent = 0
            refused: list[tuple[Stored, Refusal]] = []
            for sequence, step in list(self._open.items()):
                if step is None or (last and sequence != last + 1):
                    break
                del self._open[sequence]
                first, last, sent = first or sequence, sequence, sent + len(step.sent)
                if step.refused is not None:
                    refused.append(step.refused)
            if last:
                self._changed.notify_all()
            return Done(first, last, sent, refused) if last else None

    @property
    def is_idle(self) -> bool:
        with self._changed:
            return not self._open

    def wait(self, seconds: float) -> None:
        with self._changed:
            self._changed.wait(seconds)

    def close(self) -> None:
        with self._changed:
            self._closed = True
            self._changed.notify_all()
