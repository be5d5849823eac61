"""The contract between the lake and an object store: bytes under keys, nothing of Singer."""

from __future__ import annotations

import enum
import io
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import BinaryIO, Protocol

from singerlake.errors import CorruptDocument

LARGEST_DOCUMENT = 256 * 1024 * 1024
"""Bytes: a larger object is no document, and reading it whole could take all memory there is."""


class Promise(enum.Enum):
    """How far a store keeps the conditions of `create`, `replace` and `delete_if`."""

    CONDITIONAL = "conditional"
    """The store itself refuses a write whose condition does not hold: no race can break it."""

    BEST_EFFORT = "best effort"
    """We look, then write: two writers at the same moment may both believe they won."""


@dataclass(frozen=True, slots=True)
class Stored:
    """An object's bytes, and the version that `replace` and `delete_if` compare with."""

    data: bytes
    version: str


def require_document(size: int, where: str) -> None:
    """Raises `CorruptDocument` where an object is too large to be read whole."""
    if size > LARGEST_DOCUMENT:
        raise CorruptDocument(
            f"{where}: expected a document of at most {LARGEST_DOCUMENT} bytes, found {size}"
        )


@dataclass(frozen=True, slots=True)
class Listed:
    """One row of a listing. `modified` is the store's clock, for people and for `sweep` only.

    `replace` and `delete_if` take `version` as they take that of `read`, which may be another.
    """

    key: str
    size: int
    modified: datetime
    version: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A local file that nobody writes to any more, and the SHA-256 of its bytes, in hex.

    Where it lies in the store's spool folder, the file itself may become the object: whoever had
    it written removes its name then, and never writes to it.
    """

    path: Path
    sha256: str


Data = bytes | Path | Finished
"""What an object is made of: bytes, or a local file's content."""


def in_hand(data: Data) -> bytes | Path:
    """For stores to which a finished file is a file like any other."""
    return data.path if isinstance(data, Finished) else data


class Upload(Protocol):
    """Bytes to be stored that are not to be held in memory."""

    @property
    def size(self) -> int:
        """How many bytes there are."""

    def open(self) -> BinaryIO:
        """A reader from the beginning; each attempt opens its own.

        It may raise at its end, where the bytes are not what they should be: then nothing is
        stored.
        """


class Store(ABC):
    """Objects under keys below one root.

    A key is one or more non-empty segments joined by `/`; a key that could lead outside
    the root (a segment `.` or `..`, a backslash, a control character) raises `BadName`. A
    write is atomic: a reader sees the whole object or none of it, and an answered write is
    durable. That of a lock, whose key ends in `.lock`, need not be: its holder is gone after a
    crash, when it may be gone too, or torn, or there again. Versions are opaque, and may be equal
    for equal bytes, so a caller whose writes must be told apart writes bytes that differ. Listings
    skip hidden names (a segment that begins with `.`), where stores keep what is their own.

    Every method may raise `PermissionDenied`, `Unavailable`, and, where it writes,
    `OutcomeUnknown`. Stores can be pickled, and are safe to use from several threads.
    """

    @property
    def writes_at_once(self) -> int:
        """How many threads it pays to write with. More of them wait for a store that is far away;
        on a disk they only wait for each other."""
        return 8

    def spool_folder(self) -> Path | None:
        """A local folder where a large file is better gathered than in the system's temporary
        folder: `create` of a `Finished` file there copies nothing. May write to the store."""
        return None

    @property
    @abstractmethod
    def url(self) -> str:
        """Where the root is, for messages: never holds a secret."""

    @abstractmethod
    def promise(self) -> Promise:
        """What this store really does with conditions. May ask the store, once."""

    def oddities(self) -> list[str]:
        """What the store, or something before it, does otherwise than it should, and what to do
        about it: for `doctor`. May try anew, by writing, and tells what it has met so far."""
        return []

    @abstractmethod
    def read(self, key: str) -> Stored:
        """The whole object, for small documents. Raises `NotFound`.

        Raises `CorruptDocument` for one above `LARGEST_DOCUMENT`, where the store tells its size
        before its content.
        """

    def read_if_changed(self, key: str, validator: str) -> tuple[Stored, str] | None:
        """The whole object and its validator, or None if it is as it was at `validator`.

        A validator is for this method alone: a cheap mark of an object's state, good to ask again,
        and not a version. `replace` and `delete_if` must never get one. The validator "" always
        returns the object, and a store returns "" where it cannot promise to notice the next
        change. Stores that can compare without a body send none. Raises as `read` does.
        """
        stored = self.read(key)
        return None if stored.version == validator else (stored, stored.version)

    def version(self, key: str) -> str:
        """The object's version, without holding its bytes. Raises `NotFound`."""
        return self.read(key).version

    def size(self, key: str) -> int:
        """How many bytes the object has, without reading them. Raises `NotFound`."""
        with self.open(key) as file:
            return file.seek(0, io.SEEK_END)

    @abstractmethod
    def open(self, key: str, size: int | None = None) -> BinaryIO:
        """A reader over the object that holds a bounded part of it in memory.

        `size`, where the caller knows it, saves a request. Raises `NotFound`, here or at
        the first read.
        """

    @abstractmethod
    def create(self, key: str, data: Data) -> str:
        """Write an object that must not exist yet.

        Returns its version. Raises `AlreadyExists`, and then has changed nothing.
        """

    def create_from(self, key: str, upload: Upload) -> str:
        """As `create`, of bytes that a reader gives; what the reader raises, this raises.

        The object is there whole, after the reader's end was reached, or not at all. By default
        the bytes go through a temporary file: some stores keep half of an upload that is stopped.
        """
        with tempfile.TemporaryDirectory(prefix="singerlake-upload-") as folder:
            copy = Path(folder, "bytes")
            with upload.open() as source, copy.open("xb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            return self.create(key, copy)

    @abstractmethod
    def replace(self, key: str, data: bytes, version: str) -> str:
        """Replace the object if it is still `version`; returns the new version.

        Raises `Changed` where it is another version or is gone, and then has changed nothing.
        """

    @abstractmethod
    def delete(self, key: str) -> None:
        """Remove the object; no error where there is none."""

    @abstractmethod
    def delete_if(self, key: str, version: str) -> None:
        """Remove the object if it is still `version`. Raises `Changed`, like `replace`."""

    @abstractmethod
    def folders(self, prefix: str) -> list[str]:
        """The names of the folders directly below the folder `prefix`, sorted.

        Some stores still name a folder whose last object has been deleted.
        """

    @abstractmethod
    def list(self, prefix: str) -> Iterator[Listed]:
        """Every object below the folder `prefix` (`""`: the root), sorted by key."""

    def list_folder(self, folder: str, after: str) -> Iterator[Listed]:
        """The objects directly in the folder whose names sort after `after`, sorted.

        What lies in folders below is not listed, and where the store can begin a listing in the
        middle, neither is what comes before: a folder with many objects costs one request.
        """
        start = f"{folder}/"
        for row in self.list(folder):
            name = row.key[len(start) :]
            if "/" not in name and name > after:
                yield row

    @abstractmethod
    def sweep(self, older_than: timedelta, folder: str) -> int:
        """Remove what crashed writes left outside the listing; returns how many.

        Unfinished uploads are removed below `folder` only: beside it they may be somebody else's.
        """
