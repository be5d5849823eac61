"""The emitter: events go out on a thread of their own, and nobody waits for them.

What reports an event hands over how to make it, and goes on: a receiver that is slow, full, or
gone costs the work nothing. Events that the receiver does not take wait in a queue that is bounded;
what does not fit is counted. At the end unsent events get two seconds more.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain, repeat

from singerlake.errors import NoAnswer
from singerlake.lineage.emitter.sender import Refused, Sender
from singerlake.lineage.event.value import Event, encode
from singerlake.runtime import REAL, Runtime

MOST_WAITING = 10_000
"""Reports that wait at most: each is small until its event is made."""

AT_THE_END = 2.0
"""Seconds that the end of the work waits for unsent events."""

PAUSES = (0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Seconds between tries, while the receiver does not answer."""

Make = Callable[[], Iterable[Event]]


@dataclass
class Counts:
    """Events, by what became of them."""

    sent: int = 0
    refused: int = 0
    failed: int = 0
    dropped: int = 0
    left: int = 0

    @property
    def unsent(self) -> int:
        return self.refused + self.failed + self.dropped + self.left


class Emitter:
    """For reports from any thread."""

    def __init__(
        self,
        sender: Sender,
        where: str,
        logger: logging.Logger,
        runtime: Runtime = REAL,
        most_waiting: int = MOST_WAITING,
    ) -> None:
        self.counts = Counts()
        self._sender, self._where, self._logger, self._runtime = sender, where, logger, runtime
        self._most = most_waiting
        self._waiting: deque[tuple[Make, int]] = deque()
        self._made: deque[bytes] = deque()
        self._turn = threading.Lock()
        self._work, self._closing = threading.Event(), threading.Event()
        self._abandoned = threading.Event()
        self._complained = False
        self._thread: threading.Thread | None = None

    def report(self, make: Make, events: int = 1) -> None:
        """Have these events made and sent, in the order of the reports. Never raises, never waits.

        `make` is called on the emitter's thread, and makes about so many events.
        """
        with self._turn:
            full = self._closing.is_set() or len(self._waiting) >= self._most
            if full or not self._has_thread():
                self.counts.dropped += events
                return
            self._waiting.append((make, events))
        self._work.set()

    def _has_thread(self) -> bool:
        if self._thread is None:
            try:
                self._thread = self._runtime.start(self._run, "singerlake-lineage")
            except RuntimeError as error:  # the machine has no room for another
                self._complain(str(error))
        return self._thread is not None

    def close(self) -> Counts:
        """Wait for `AT_THE_END` at most for unsent events, and say in the log how many are left."""
        self._closing.set()
        self._work.set()
        if self._thread is not None:
            self._runtime.join(self._thread, AT_THE_END)
        self._abandoned.set()
        counts = self.counts
        counts.left = len(self._made) + sum(events for _, events in list(self._waiting))
        if counts.unsent:
            self._logger.warning(
                "Lineage: %d events were sent to %s, and %d were not. `singerlake lineage emit` "
                "makes the events of commits again",
                counts.sent,
                self._where,
                counts.unsent,
            )
        else:
            self._logger.info("Lineage: %d events were sent to %s", counts.sent, self._where)
        return counts

    def _run(self) -> None:
        while not self._abandoned.is_set():
            last = self._closing.is_set()  # before the look: what came before it is seen
            self._work.clear()
            while self._waiting and not self._abandoned.is_set():
                make, events = self._waiting[0]
                self._make(make, events)
                self._waiting.popleft()
                while self._made and self._send(self._made[0]):
                    self._made.popleft()
            if last:
                return
            if not self._closing.is_set():
                self._work.wait()

    def _make(self, make: Make, events: int) -> None:
        try:
            self._made.extend(map(encode, make()))
        except Exception as error:
            # A fault of ours must not end the thread: the events of other commits are sound.
            self.counts.failed += events
            self._complain(f"an event could not be made ({type(error).__name__}: {error})")

    def _send(self, event: bytes) -> bool:
        """Whether to go on: False once nobody waits for unsent events any more."""
        for pause in chain(PAUSES, repeat(PAUSES[-1])):
            try:
                self._sender(event)
                self.counts.sent += 1
                return True
            except Refused as error:
                self.counts.refused += 1
                self._complain(f"an event was refused: {error}")
                return True
            except NoAnswer as error:
                self._complain(f"{error}; the work goes on")
            except Exception as error:  # nor may a fault of a sender
                self.counts.failed += 1
                self._complain(f"an event could not be sent ({type(error).__name__})")
                return True
            self._runtime.wait(self._closing, pause)
            # At the end every moment counts.
            if self._closing.is_set() and self._runtime.wait(self._abandoned, PAUSES[0]):
                return False
        raise AssertionError("pauses never end")

    def _complain(self, text: str) -> None:
        """Once: a receiver that is gone must not fill the log."""
        if not self._complained:
            self._complained = True
            self._logger.warning("Lineage: %s", text)
