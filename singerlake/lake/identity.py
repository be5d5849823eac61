"""New ids: of runs, which sort by the time at which they were made, and of writers."""

from __future__ import annotations

import os
import socket
import uuid
from uuid import UUID

from singerlake.lake import clock


def new_run_id() -> str:
    """A UUID of version 7, as text: 48 bits of milliseconds, then 74 random bits."""
    milliseconds = int(clock.now().timestamp() * 1000)
    random = uuid.uuid4().int
    value = (
        milliseconds << 80
        | 0x7 << 76
        | (random >> 64 & 0xFFF) << 64
        | 0b10 << 62
        | random & (1 << 62) - 1
    )
    return str(UUID(int=value))


def new_writer_id() -> str:
    """Names this writer to people and to other writers: machine, process, and a unique part."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"
