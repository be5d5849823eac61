"""Sends events until the destination has them, or will never take them: it never gives up."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from singerlake.lineage.buffer.disk import dead
from singerlake.lineage.buffer.disk.dead import SKIPPED, Refusal
from singerlake.lineage.buffer.disk.event import Stored
from singerlake.lineage.buffer.disk.state import State
from singerlake.lineage.proxy.health import Health
from singerlake.lineage.transport.base import Transport
from singerlake.runtime import Runtime


@dataclass(frozen=True)
class Backoff:
    """Doubled after each failure, and at random between a half and the whole of it."""

    first_seconds: float = 0.5
    most_seconds: float = 30.0

    def seconds(self, failures: int, chance: float) -> float:
        whole = min(self.most_seconds, self.first_seconds * float(2 ** min(failures, 30)))
        return whole * (0.5 + chance / 2)


class Step(NamedTuple):
    """Events that were sent, or one that was refused; neither before a pause, as sends fail."""

    sent: Sequence[Stored] = ()
    refused: tuple[Stored, Refusal] | None = None

    @property
    def is_pause(self) -> bool:
        return not self.sent and self.refused is None


class Courier:
    """For one thread at a time; those of one destination share its health."""

    def __init__(
        self,
        transport: Transport,
        state: State,
        health: Health,
        stopping: threading.Event,
        backoff: Backoff,
        runtime: Runtime,
    ) -> None:
        self._transport, self._state, self._health = transport, state, health
        self._stopping, self._backoff, self._runtime = stopping, backoff, runtime
        self._skips = dead.skipped(state, transport.name)

    def deliver(self, events: Sequence[Stored]) -> Iterator[Step]:
        """In their order, step by step; ends early only when the proxy stops."""
        pending, failures = list(events), 0
        while pending and not self._stopping.is_set():
            self._health.head_received = pending[0].received
            if pending[0].sequence in self._skips:
                yield Step(refused=(pending.pop(0), Refusal(None, SKIPPED)))
                continue
            batch = pending[: self._transport.batch]
            answer = self._transport.send([one.event for one in batch])
            if answer.delivered:
                yield Step(sent=batch[: answer.delivered])
                del pending[: answer.delivered]
                failures = 0
            if not answer.reason or answer.refused:
                self._health.answered()
            if answer.refused:
                yield Step(refused=(pending.pop(0), Refusal(answer.status, answer.reason)))
                failures = 0
            elif answer.reason:
                self._health.failed(answer.reason)
                yield Step()
                self._pause(failures, answer.after)
                failures += 1

    def _pause(self, failures: int, after: float | None) -> None:
        seconds = self._backoff.seconds(failures, random.random())
        self._runtime.wait(self._stopping, max(seconds, after or 0.0))
        self._skips = dead.skipped(self._state, self._transport.name)
