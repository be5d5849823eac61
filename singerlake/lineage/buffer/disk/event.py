"""An event as the buffer keeps it: a number, the time received, and the bytes, deflated.

The checksum covers all of it, so that a flipped bit anywhere in a row is seen when the row is read.
"""

from __future__ import annotations

import logging
import struct
from typing import NamedTuple

from isal import isal_zlib

from singerlake.errors import CorruptFile

logger = logging.getLogger(__name__)

LEVEL = 1
_HEAD = struct.Struct("<qqq")

Row = tuple[int, int, int, int, bytes]
"""sequence, received, size, checksum, deflated event."""


class Stored(NamedTuple):
    """`received` is in milliseconds since 1970, by the wall clock."""

    sequence: int
    received: int
    event: bytes


def pack(sequence: int, received: int, event: bytes) -> Row:
    deflated = isal_zlib.compress(event, LEVEL)
    return (
        sequence,
        received,
        len(event),
        _checksum(sequence, received, len(event), deflated),
        (deflated),
    )


def unpack(row: Row) -> Stored:
    """Raises `CorruptFile`."""
    sequence, received, size, checksum, deflated = row
    try:
        if _checksum(sequence, received, size, deflated) == checksum:
            return Stored(sequence, received, isal_zlib.decompress(deflated))
    except Exception:  # a damaged row holds anything
        logger.debug("event %r cannot be read", sequence, exc_info=True)
    raise CorruptFile(f"event {sequence}: expected the bytes that its checksum is of, found others")


def _checksum(sequence: int, received: int, size: int, deflated: bytes) -> int:
    return isal_zlib.crc32(deflated, isal_zlib.crc32(_HEAD.pack(sequence, received, size)))
