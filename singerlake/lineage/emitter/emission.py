"""`singerlake lineage emit`: what the feed reports, sent as events, each until it is taken."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from singerlake.errors import NoAnswer
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.event import Failed
from singerlake.lake.feed.feed import Feed
from singerlake.lineage.emitter.sender import Refused, Sender
from singerlake.lineage.event.value import encode
from singerlake.lineage.job.history import Landings
from singerlake.runtime import REAL, Runtime

PAUSES = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0)
"""Seconds between tries to send an event."""

KEPT_EVERY = 5.0
"""Seconds after which the position is kept, in the midst of a long history."""


@dataclass
class Emitted:
    """What was sent so far, and which streams could not be read."""

    events: int = 0
    refused: int = 0
    failures: tuple[str, ...] = ()


class Emission:
    """One history, sent in order. `keep` is given the position behind what was sent."""

    def __init__(
        self,
        feed: Feed,
        landings: Landings,
        sender: Sender,
        keep: Callable[[Cursor], None],
        complain: Callable[[str], None],
        runtime: Runtime = REAL,
    ) -> None:
        self.emitted = Emitted()
        self._feed, self._landings, self._sender, self._keep = feed, landings, sender, keep
        self._complain, self._runtime = complain, runtime

    def once(self, tries: int | None = len(PAUSES)) -> Emitted:
        """All that is new. Raises `NoAnswer` after so many tries; None: never."""
        failures: list[str] = []
        kept = self._runtime.monotonic()
        self._landings.begin_round()
        for event in self._feed.poll():
            if isinstance(event, Failed):
                failures.append(f"{event.kind}: {event.error}")
                self._complain(failures[-1])
            for made in self._landings.events_of(event):
                self._deliver(encode(made), tries)
            if self._runtime.monotonic() - kept >= KEPT_EVERY:
                self._keep(self._feed.cursor)
                kept = self._runtime.monotonic()
        self._keep(self._feed.cursor)
        self.emitted.failures = tuple(failures)
        return self.emitted

    def follow(self, seconds: float) -> Iterator[Emitted]:
        """Rounds without end; a receiver that is gone is waited for."""
        never = threading.Event()
        while True:
            yield self.once(tries=None)
            self._runtime.wait(never, seconds)

    def _deliver(self, event: bytes, tries: int | None) -> None:
        tried = 0
        while True:
            try:
                self._sender(event)
                self.emitted.events += 1
                return
            except Refused as error:
                self.emitted.refused += 1
                self._complain(f"an event was refused: {error}")
                return
            except NoAnswer as error:
                if tried == tries:
                    raise
                if tried == 0:
                    self._complain(f"{error}; trying again")
            self._runtime.wait(threading.Event(), PAUSES[min(tried, len(PAUSES) - 1)])
            tried += 1
