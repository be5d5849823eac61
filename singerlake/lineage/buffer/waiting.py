"""Events that wait for the next commit: all that wait share one transaction."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from singerlake.errors import BusyError
from singerlake.lineage.buffer.limits import Limits

Outcome = list[int] | Exception
"""The numbers of the events, in their order; or why they were not written."""


class Request(NamedTuple):
    """`done` is called on the writer's thread, and must not block."""

    events: Sequence[bytes]
    done: Callable[[Outcome], None]


class Waiting:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._requests: deque[Request] = deque()
        self._ready = threading.Condition()
        self._events = self._bytes = 0
        self._closed = False

    def add(self, request: Request) -> None:
        """Raises `BusyError` where too much waits already."""
        size = sum(map(len, request.events))
        with self._ready:
            if self._closed:
                raise BusyError("the buffer is being closed: send the event again later")
            events, limits = self._events + len(request.events), self._limits
            if events > limits.waiting_events or self._bytes + size > limits.waiting_bytes:
                raise BusyError("too many events wait for the disk: send the event again later")
            self._events, self._bytes = events, self._bytes + size
            self._requests.append(request)
            self._ready.notify()

    def take(self) -> list[Request]:
        """The next group, in the order received; empty when all is done and the buffer closes."""
        with self._ready:
            while not self._requests and not self._closed:
                self._ready.wait()
            group: list[Request] = []
            events = size = 0
            while self._requests and events < self._limits.group_events:
                if group and size > self._limits.group_bytes:
                    break
                request = self._requests.popleft()
                group.append(request)
                events += len(request.events)
                size += sum(map(len, request.events))
            self._events -= events
            self._bytes -= size
            return group

    def close(self) -> None:
        with self._ready:
            self._closed = True
            self._ready.notify()
