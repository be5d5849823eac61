"""Events that wait for the next commit: all that wait share one transaction."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue
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
    """A queue of C, which wakes the writer for a third of what a condition costs."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._requests: SimpleQueue[Request | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._events = self._bytes = 0
        self._closed = False

    def add(self, request: Request) -> None:
        """Raises `BusyError` where too much waits already."""
        size = sum(map(len, request.events))
        with self._lock:
            if self._closed:
                raise BusyError("the buffer is being closed: send the event again later")
            events, limits = self._events + len(request.events), self._limits
            if events > limits.waiting_events or self._bytes + size > limits.waiting_bytes:
                raise BusyError("too many events wait for the disk: send the event again later")
            self._events, self._bytes = events, self._bytes + size
            self._requests.put(request)

    def take(self) -> list[Request]:
        """The next group, in the order received; empty when all is done and the buffer closes."""
        request = self._requests.get()
        group: list[Request] = []
        events = size = 0
        while request is not None:
            group.append(request)
            events += len(request.events)
            size += sum(map(len, request.events))
            if events >= self._limits.group_events or size >= self._limits.group_bytes:
                break
            try:
                request = self._requests.get_nowait()
            except Empty:
                break
        if request is None and group:
            self._requests.put(None)  # the end is still to come
        with self._lock:
            self._events -= events
            self._bytes -= size
        return group

    @property
    def count(self) -> int:
        """Requests that nobody has taken yet."""
        return self._requests.qsize()

    def close(self) -> None:
        """What waits is still written."""
        with self._lock:
            self._closed = True
            self._requests.put(None)
