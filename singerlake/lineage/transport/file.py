"""To a file of JSON lines, synced before an event counts as sent."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from singerlake.lineage.transport.base import Answer


class FileTransport:
    batch = 256
    lanes = 1

    def __init__(self, path: Path) -> None:
        self.name = f"file:{path}"
        self._path = path
        self._descriptor: int | None = None

    def send(self, events: Sequence[bytes]) -> Answer:
        # An event may be written over several lines; numbers and the order of keys stay.
        lines = b"".join(msgspec.json.format(event, indent=-1) + b"\n" for event in events)
        try:
            if self._descriptor is None:
                self._descriptor = self._opened()
            self._write(lines)
            os.fsync(self._descriptor)
        except OSError as error:
            self.close()
            return Answer(0, f"{self._path}: {error.strerror or error}")
        return Answer(len(events))

    def _opened(self) -> int:
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC
        descriptor = os.open(self._path, flags, 0o644)
        size = os.fstat(descriptor).st_size
        if not size:
            _sync_folder(self._path.parent)  # or a power cut may take the name of the new file
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            os.write(descriptor, b"\n")  # a line that a crash cut off stays a line of its own
        return descriptor

    def _write(self, lines: bytes) -> None:
        assert self._descriptor is not None
        size = os.fstat(self._descriptor).st_size
        written = 0
        try:
            while written < len(lines):
                written += os.write(self._descriptor, lines[written:])
        except OSError:
            os.ftruncate(self._descriptor, size)  # on a full disk: no half of an event
            raise

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
