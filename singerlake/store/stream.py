"""Readers over something that can be asked for a range of bytes."""

from __future__ import annotations

import io
from typing import BinaryIO, Protocol, cast

_BLOCK = 8 << 20


class Source(Protocol):
    """What a reader reads from."""

    def fetch(self, offset: int, length: int) -> bytes:
        """At most `length` bytes from the offset on; nothing only at the end."""

    def size(self) -> int:
        """How many bytes there are."""

    def close(self) -> None:
        """Let go of what is held open."""


def reader(source: Source, block: int = _BLOCK) -> BinaryIO:
    """A file object that fetches a block at a time, and can seek."""
    # BufferedReader is a BinaryIO in all but its declared type.
    return cast(BinaryIO, io.BufferedReader(_RawReader(source, block), block))


class FileSource:
    """A file object as a source, for wrappers that do something around every read."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def fetch(self, offset: int, length: int) -> bytes:
        if self._file.tell() != offset:
            self._file.seek(offset)
        return self._file.read(length)

    def size(self) -> int:
        return self._file.seek(0, io.SEEK_END)

    def close(self) -> None:
        self._file.close()


class _RawReader(io.RawIOBase):
    def __init__(self, source: Source, block: int) -> None:
        self._source = source
        self._block = block
        self._offset = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._offset

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {
            io.SEEK_SET: lambda: 0,
            io.SEEK_CUR: lambda: self._offset,
            io.SEEK_END: self._source.size,
        }[whence]()
        if start + offset < 0:
            raise ValueError("seek before the start")
        self._offset = start + offset
        return self._offset

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._source.fetch(self._offset, len(buffer))
        buffer[: len(data)] = data
        self._offset += len(data)
        return len(data)

    def readall(self) -> bytes:
        # RawIOBase would ask for 8 KB at a time.
        blocks = []
        while data := self._source.fetch(self._offset, self._block):
            self._offset += len(data)
            blocks.append(data)
        return b"".join(blocks)

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()
