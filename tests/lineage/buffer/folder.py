"""A buffer in a folder, and what tests do to both."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path

from singerlake.lineage.buffer import Buffer, Limits
from singerlake.lineage.buffer.disk.dead import Done
from singerlake.runtime import REAL, Runtime

TO = "backend"
SMALL = Limits(partition_bytes=30_000, free_bytes=0)


class Clock(Runtime):
    """A wall clock that can be set, and a monotonic one that can be moved on."""

    def __init__(self) -> None:
        self.set_by, self.passed = timedelta(), 0.0

    def now(self) -> datetime:
        return super().now() + self.set_by

    def monotonic(self) -> float:
        return super().monotonic() + self.passed


@contextmanager
def opened(
    folder: Path, *destinations: str, limits: Limits = SMALL, runtime: Runtime = REAL
) -> Iterator[Buffer]:
    buffer = Buffer(folder, destinations or (TO,), limits, runtime)
    try:
        yield buffer
    finally:
        buffer.close()


def event(number: int, size: int = 800) -> bytes:
    """Bytes that do not deflate to nothing."""
    noise = (f"{number * 7919 + step:x}" for step in range(size // 6))
    return b'{"number": %d, "noise": "%s"}' % (number, "".join(noise).encode())


def fill(buffer: Buffer, count: int, begin: int = 1) -> list[int]:
    """A dozen at once, which is about a partition."""
    numbers: list[int] = []
    events = [event(number) for number in range(begin, begin + count)]
    for place in range(0, count, 12):
        buffer._writer._since_look = 0
        numbers += buffer.put(events[place : place + 12])
    return numbers


def readable(buffer: Buffer, after: int = 0) -> dict[int, bytes]:
    reader, found = buffer.reader(), dict[int, bytes]()
    try:
        while events := reader.after(max([after, *found]), 50):
            found |= {one.sequence: one.event for one in events}
    finally:
        reader.close()
    return found


def send_all(buffer: Buffer, to: str = TO, until: int | None = None) -> None:
    first, last = buffer.checkpoint(to) + 1, buffer.shelf.last if until is None else until
    buffer.advance(to, Done(first, last, buffer._events(first, last)))
