"""The pipes between a tap and a target: larger ones, so that neither waits for the other often."""

from __future__ import annotations

ROOM = 1024 * 1024
"""Bytes that a writer may be ahead of its reader. Linux gives a pipe 64 KB, which a block of lines
fills four times over; this is the most that it gives every user."""


def enlarge(descriptor: int) -> None:
    """Give a pipe that much room, on Linux, and as far as the system allows; others stay."""
    try:
        import fcntl

        if fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ) < ROOM:
            fcntl.fcntl(descriptor, fcntl.F_SETPIPE_SZ, ROOM)
    except (ImportError, AttributeError, OSError):
        return
