"""Who is at work: new ids of runs, which sort by time, and of writers; and the person."""

from __future__ import annotations

import os
import socket
import uuid
from uuid import UUID

from singerlake.errors import BadName, ConfigError
from singerlake.format.keys import LONGEST_SEGMENT, escape
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


def require_run_id(run_id: str) -> None:
    """A file names its run in a header that has room for a path segment."""
    try:
        escape(run_id)
    except BadName:
        raise ConfigError(
            f"the run id {run_id[:40]!r}… is empty or too long: expected 1 to "
            f"{LONGEST_SEGMENT} characters, such as a UUID"
        ) from None


def new_writer_id() -> str:
    """Names this writer to people and to other writers: machine, process, and a unique part."""
    return f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex[:8]}"


def person() -> str:
    """Names the person at this machine to other people."""
    import getpass  # only for those who are asked who they are

    try:
        user = getpass.getuser()
    except (ImportError, KeyError, OSError):  # a container may know its user by number only
        user = str(os.getuid())
    return f"{user}@{socket.gethostname()}"
