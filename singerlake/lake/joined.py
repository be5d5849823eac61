"""The lines of several Singer files as one, behind the SCHEMA line of the first."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

from singerlake.errors import CorruptFile
from singerlake.format import compression
from singerlake.format.origin import Origin
from singerlake.lake.spool import CHUNK, Spool


class Joined:
    """The lines of several files, behind the SCHEMA line of the first."""

    def __init__(self, path: Path, level: int, origin: Origin) -> None:
        self._path, self._level, self._origin = path, level, origin
        self._spool: Spool | None = None
        self._buffer = bytearray()

    def add(self, blocks: Iterator[bytes], where: str) -> int:
        """Append a file's lines; returns how many there are besides the SCHEMA line."""
        lists = compression.line_lists(blocks)
        head, *first = next(lists, [b""])
        if not head:
            raise CorruptFile(f"{where}: expected a SCHEMA line, found an empty file")
        if self._spool is None:
            self._spool = Spool(self._path, self._level, head + b"\n", self._origin)
        count = 0
        for lines in chain([first], lists):
            if lines:
                self._buffer += b"\n".join(lines) + b"\n"
            count += len(lines)
            if len(self._buffer) >= CHUNK:
                self._send()
        return count

    def _send(self) -> None:
        if self._spool is not None and self._buffer:
            self._spool.add(bytes(self._buffer))
            self._buffer.clear()

    def finish(self) -> Spool:
        self._send()
        if self._spool is None:
            raise AssertionError("a merge of no files")
        return self._spool
