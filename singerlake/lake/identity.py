"""New ids for runs, which sort by the time at which they were made."""

from __future__ import annotations

import os
import uuid

from singerlake.lake import clock


def new_run_id() -> str:
    """A UUID of version 7, as text: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = int(clock.now().timestamp() * 1000)
    random = int.from_bytes(os.urandom(10), "big")
    value = (
        milliseconds << 80
        | 0x7 << 76
        | (random >> 62 & 0xFFF) << 64
        | 0b10 << 62
        | random & (1 << 62) - 1
    )
    return str(uuid.UUID(int=value))
