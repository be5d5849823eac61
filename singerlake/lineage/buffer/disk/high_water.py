"""The newest number that was written, beside the partitions.

Where the newest partition is damaged, this says how much it held. It is written after each commit
without a sync: a killed process loses nothing of it, and after a power cut it is at most too low.
"""

from __future__ import annotations

import os
import struct
from contextlib import suppress
from pathlib import Path

from isal import isal_zlib

from singerlake.lineage.buffer.disk.layout import LAST

_RECORD = struct.Struct("<qI")


class HighWater:
    def __init__(self, folder: Path) -> None:
        self._descriptor = os.open(folder / LAST, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self.value = _parsed(os.pread(self._descriptor, _RECORD.size, 0))

    def raise_to(self, sequence: int) -> None:
        self.value = sequence
        # On a full disk this fails, as the next commit will: the number is a hint.
        with suppress(OSError):
            os.pwrite(self._descriptor, _RECORD.pack(sequence, _checksum(sequence)), 0)

    def close(self) -> None:
        with suppress(OSError):
            os.fsync(self._descriptor)
        os.close(self._descriptor)


def read(folder: Path) -> int:
    with suppress(OSError):
        return _parsed((folder / LAST).read_bytes()[: _RECORD.size])
    return 0


def _parsed(record: bytes) -> int:
    """0 for a record that is torn, damaged or not there."""
    if len(record) != _RECORD.size:
        return 0
    sequence, checksum = _RECORD.unpack(record)
    return int(sequence) if checksum == _checksum(sequence) and sequence > 0 else 0


def _checksum(sequence: int) -> int:
    return isal_zlib.crc32(sequence.to_bytes(8, "little", signed=True))
