"""The names of Singer files: each ends in digits of the file's own hash, and is never used again.

So a name is the file's identity: whoever finds it finds these bytes, now and for ever. An upload
may be sent twice, a delete may arrive late, and a copy of a lake may have other times.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from singerlake.errors import AlreadyExists, NotFound, OutcomeUnknown
from singerlake.format import compression
from singerlake.format import keys as key_names
from singerlake.format.keys import FileName, StreamKeys
from singerlake.format.origin import Origin
from singerlake.store import Data, Finished, Store

_HEAD = 1024
"""Bytes at the beginning of a file that hold its origin."""

_READ = 1 << 20


@dataclass(frozen=True)
class Content:
    """A finished file: its bytes, or the local file that holds them, and what they hash to."""

    data: bytes | Path
    checksum: str
    bytes: int

    def for_store(self) -> Data:
        if not isinstance(self.data, Path):
            return self.data
        return Finished(self.data, self.checksum.removeprefix("sha256:"))

    def in_other_bytes(self) -> Content:
        """The same lines in other bytes: the number in the origin gets a zero before it.

        A local file is replaced by another: the one that was there may be in a lake.
        """
        if not isinstance(self.data, Path):
            changed = b"".join(_changed(iter([self.data])))
            return Content(changed, f"sha256:{hashlib.sha256(changed).hexdigest()}", len(changed))
        digest, size = hashlib.sha256(), 0
        beside = self.data.with_name(f"{self.data.name}.renamed")
        with self.data.open("rb") as source, beside.open("xb") as target:
            for chunk in _changed(iter(lambda: source.read(_READ), b"")):
                digest.update(chunk)
                size += target.write(chunk)
        beside.replace(self.data)
        return Content(self.data, f"sha256:{digest.hexdigest()}", size)


@dataclass(frozen=True)
class Name:
    """A file's path below its stream's folder, as far as its content does not tell it."""

    stream: str
    schema_hash: str
    first: datetime
    last: datetime

    def path(self, checksum: str) -> str:
        digits = key_names.digits_of(checksum)
        name = FileName(self.stream, self.first, self.last, digits)
        return key_names.file_path(self.schema_hash, name)


def create(
    store: Store,
    keys: StreamKeys,
    name: Name,
    content: Content,
    announce: Callable[[str], str] = lambda path: "",
) -> Content:
    """Have the file in the store; returns it as it lies there.

    Where another has that name, by a clash of its digits, this one is written in other bytes.
    `announce` is given the path before the file is there, and returns the key of what it wrote of
    it, which goes where the path was another's.
    """
    while True:
        path = name.path(content.checksum)
        announced = announce(path)
        if _put(store, keys.under(path), content):
            return content
        if announced:
            store.delete(announced)
        content = content.in_other_bytes()


def _put(store: Store, key: str, content: Content) -> bool:
    """Whether the file lies there now: one that was there already is ours, if it has the bytes. An
    answer was lost then, or this is done again."""
    while True:
        try:
            store.create(key, content.for_store())
        except AlreadyExists:
            found = checksum_of(store, key)
            if found is None:
                continue  # a purge took what was left of an earlier attempt
            return found == content.checksum
        except OutcomeUnknown:
            if checksum_of(store, key) != content.checksum:
                raise
        return True


def checksum_of(store: Store, key: str) -> str | None:
    """Of the object as it is now; None where there is none."""
    digest = hashlib.sha256()
    try:
        with store.open(key) as file:
            while data := file.read(_READ):
                digest.update(data)
    except NotFound:
        return None
    return f"sha256:{digest.hexdigest()}"


def _changed(chunks: Iterator[bytes]) -> Iterator[bytes]:
    first = next(chunks)
    origin = Origin.parse(compression.origin(first[:_HEAD]))
    if origin is None:
        raise AssertionError("a file without an origin")
    yield compression.with_origin(first, str(origin.in_other_bytes()))
    yield from chunks
