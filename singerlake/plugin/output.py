"""Standard output, in bytes: what is written is written whole."""

from __future__ import annotations

import sys


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
