"""The tap's output in blocks of whole lines, handed on soon after they arrive."""

from __future__ import annotations

import io
import os
import select
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

from singerlake.errors import ConfigError
from singerlake.format.message import LONGEST
from singerlake.plugin import pipe

BLOCK = 256 * 1024
"""Enough lines at once for the quick decoder. What it makes of more does not fit a processor's
cache, and a STATE in between makes it decode the lines before it twice."""

GATHERED = 4 * 1024 * 1024
"""The same where a block holds many streams: a stream's lines go on together, and of a smaller
block those are a few of each."""

SHORT_WAIT = 0.05
"""Seconds to wait for a block to fill: a slow tap's STATE is not held back for longer."""

LONG_WAIT = 1.0
"""Seconds after which the caller gets a say though nothing came: to commit by age, or to stop."""


class Endless(Exception):
    """A line that goes on beyond what the lake takes, and what it begins with."""

    def __init__(self, begin: bytes) -> None:
        super().__init__("a line without end")
        self.begin = begin


def blocks(
    source: IO[Any] | None, stopped: Callable[[], bool], room: Callable[[], int] = lambda: BLOCK
) -> Iterator[bytes]:
    """Blocks of whole lines, of about `room` bytes; an empty block where nothing came for a while.

    Ends with the input, whose last line may lack its line feed, or once `stopped` says so:
    then what was read of an unfinished line is left out. Raises `Endless`, and
    `ConfigError` where there is no input.
    """
    source = source or sys.stdin
    if source is None:  # as Python has it where the shell closed it
        raise ConfigError("stdin is closed: pipe a tap's output in, or name a file with --input")
    # A line's pieces are joined once, at its end: a long one comes in hundreds.
    rest: list[bytes] = []
    size = 0
    for chunk in _chunks(source, stopped, room):
        cut = chunk.rfind(b"\n") + 1
        if cut:
            yield b"".join((*rest, memoryview(chunk)[:cut]))
            rest, size = [chunk[cut:]], len(chunk) - cut
            continue
        if chunk:
            rest.append(chunk)
            size += len(chunk)
            if size > LONGEST:
                raise Endless(b"".join(rest[:2]))
        yield b""
    if size and not stopped():
        yield b"".join(rest)


def _chunks(
    source: IO[Any], stopped: Callable[[], bool], room: Callable[[], int]
) -> Iterator[bytes]:
    try:
        descriptor = source.fileno()
    except (OSError, AttributeError, io.UnsupportedOperation):
        yield from _from_object(source, stopped, room)
        return
    pipe.enlarge(descriptor)
    while not stopped():
        held: list[bytes] = []
        left = room()
        ends = time.monotonic() + LONG_WAIT
        while left and _is_ready(descriptor, max(0.0, ends - time.monotonic())):
            data = os.read(descriptor, min(left, pipe.ROOM))
            if not data:
                yield b"".join(held)
                return
            if not held:
                ends = time.monotonic() + SHORT_WAIT
            held.append(data)
            left -= len(data)
        yield b"".join(held)


def _from_object(
    source: IO[Any], stopped: Callable[[], bool], room: Callable[[], int]
) -> Iterator[bytes]:
    """From something that is no file, as tests hand in: text or bytes."""
    while not stopped():
        data = source.read(room())
        if not data:
            return
        yield data.encode() if isinstance(data, str) else data


def _is_ready(descriptor: int, seconds: float) -> bool:
    try:
        return bool(select.select([descriptor], [], [], seconds)[0])
    except (OSError, ValueError):
        # Windows selects sockets only: there the read itself waits.
        return True
