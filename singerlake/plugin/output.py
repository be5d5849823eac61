"""Standard output, in bytes: what is written is written whole."""

from __future__ import annotations

import io
import os
import select
import sys
from typing import Any

from singerlake.plugin import pipe


class _Waiting(io.FileIO):
    """A descriptor that somebody may have made non-blocking: where it is full, we wait."""

    def write(self, data: Any) -> int:
        while True:
            sent = super().write(data)
            if sent is not None:
                return sent
            select.select([], [self], [])


def wait_for_readers() -> None:
    """Let stdout wait for a slow reader, though its descriptor does not block; text is UTF-8.

    A pipe gets more room, so that it has to wait less often. Else the descriptor stays as it is:
    whoever started this process may share it.
    """
    try:
        descriptor = sys.stdout.fileno()
        sys.stdout.flush()
    except (AttributeError, OSError, ValueError):
        return  # closed, or no file: `send` says so
    pipe.enlarge(descriptor)
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(_Waiting(descriptor, "wb", closefd=False)),
        encoding="utf-8",
        newline="\n",
        line_buffering=sys.stdout.isatty(),
    )


def send(lines: bytes) -> None:
    """Hand over whole lines, behind whatever text was written before.

    Raises `ValueError` where stdout is closed, as Python does where it was closed later.
    """
    if sys.stdout is None:  # as Python has it where the shell closed it
        raise ValueError("stdout is closed")
    sys.stdout.flush()
    buffer = getattr(sys.stdout, "buffer", None)
    if buffer is None:
        sys.stdout.write(lines.decode("utf-8"))
        sys.stdout.flush()
        return
    sent = buffer.write(lines)
    while sent < len(lines):
        # With PYTHONUNBUFFERED a write ends early where a signal comes.
        sent += buffer.write(memoryview(lines)[sent:])
    buffer.flush()


def mute() -> None:
    """Where stdout cannot be written: Python flushes it once more at its end, and must not stumble
    over it."""
    sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
