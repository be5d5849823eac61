"""A file that is to be stored: hashed first, and hashed again while it is uploaded."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, cast

from singerlake.errors import BadFile, SingerlakeError
from singerlake.format import blob_keys

BLOCK = 1 << 20

Taken = Callable[[int], None]
"""Told how many bytes were read just now."""


def not_told(size: int) -> None:
    """For callers that show no progress."""


@dataclass(frozen=True)
class Blob:
    """Bytes by their hash; `path` is where they lie, below the stream's folder."""

    sha256: str
    size: int

    @property
    def path(self) -> str:
        return blob_keys.path_of(self.sha256)


@dataclass(frozen=True)
class Staged:
    """A file that somebody else keeps, and may change or remove: `name` is for messages."""

    name: str
    opened: Callable[[], BinaryIO]
    taken: Taken = not_told

    def measured(self) -> Blob:
        """Its hash and size as they are now. Raises `BadFile`."""
        digest, size = hashlib.sha256(), 0
        with self.reader() as file:
            while block := file.read(BLOCK):
                digest.update(block)
                size += len(block)
                self.taken(len(block))
        return Blob(digest.hexdigest(), size)

    def reader(self) -> BinaryIO:
        """Raises `BadFile` where it cannot be opened or read."""
        try:
            return cast(BinaryIO, io.BufferedReader(_Explained(self, self.opened()), BLOCK))
        except OSError as error:
            raise self.unreadable(error) from error

    def unreadable(self, error: Exception) -> BadFile:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        return BadFile(
            f"{self.name}: expected a file that can be read, found none ({why}); nothing of it is "
            "in the lake. Put it there, and run again"
        )


@dataclass(frozen=True)
class VerifiedUpload:
    """What a store is given: a reader that fails at its end where the bytes are others by now."""

    staged: Staged
    blob: Blob

    @property
    def size(self) -> int:
        return self.blob.size

    def open(self) -> BinaryIO:
        return cast(BinaryIO, _Verifying(self.staged, self.blob))


class _Explained(io.RawIOBase):
    """Passes bytes on; what the file's own system raises is explained."""

    def __init__(self, staged: Staged, file: BinaryIO) -> None:
        self._staged, self._file = staged, file

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        try:
            data = self._file.read(len(view))
        except SingerlakeError:
            raise
        except Exception as error:  # each file system has errors of its own
            raise self._staged.unreadable(error) from error
        view[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


class _Verifying(io.RawIOBase):
    """Whole reads, hashed: the last of them is not handed on unless all bytes are as they were."""

    def __init__(self, staged: Staged, blob: Blob) -> None:
        self._staged, self._blob = staged, blob
        self._file = staged.reader()
        self._hash, self._count = hashlib.sha256(), 0

    def readable(self) -> bool:
        return True

    def read(self, size: int | None = -1) -> bytes:
        """As many bytes as were asked for, fewer only at the end."""
        wanted = self._blob.size + 1 if size is None or size < 0 else size
        data = self._file.read(wanted)
        self._hash.update(data)
        self._count += len(data)
        self._staged.taken(len(data))
        if self._count > self._blob.size or (self._count == self._blob.size and self._differs()):
            raise self._changed()
        if len(data) < wanted and self._count < self._blob.size:
            raise self._changed()
        return data

    def readall(self) -> bytes:
        return self.read(-1)

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def _differs(self) -> bool:
        return self._hash.hexdigest() != self._blob.sha256

    def _changed(self) -> BadFile:
        return BadFile(
            f"{self._staged.name}: expected the {self._blob.size} bytes that were there when it "
            "was first read, found others: it changed meanwhile. Nothing of it is in the lake; "
            "run again when nobody writes to it"
        )

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()
