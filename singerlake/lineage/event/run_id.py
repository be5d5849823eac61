"""Ids of runs: UUIDs of version 7, made from what the run is, so that an event that is made twice
is the same event."""

from __future__ import annotations

import hashlib
from datetime import datetime
from uuid import UUID

_MOST_MILLISECONDS = (1 << 48) - 1


def derived(time: datetime, *parts: str | int) -> str:
    """48 bits of the time in milliseconds, then 74 bits of a hash of the parts.

    Receivers sort by such ids, and keep their tables in parts by the time in them.
    """
    text = "\0".join(f"{len(str(part))}:{part}" for part in parts)
    digest = int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest(), "big")
    milliseconds = min(max(int(time.timestamp() * 1000), 0), _MOST_MILLISECONDS)
    value = (
        milliseconds << 80
        | 0x7 << 76
        | (digest >> 64 & 0xFFF) << 64
        | 0b10 << 62
        | digest & (1 << 62) - 1
    )
    return str(UUID(int=value))


def checked(text: object) -> str:
    """A UUID with its dashes, as the spec asks for. Raises `ValueError`."""
    return str(UUID(str(text)))
