"""The bytes of an entry: as they were committed, whatever holds them today.

A Singer file comes as its lines: the members of its gzip differ between a file and a merge of it,
and not every client of HTTP reads more than one.
"""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import BinaryIO

from isal import isal_zlib

from singerlake.errors import (
    BadName,
    CorruptFile,
    MissingFile,
    NotFound,
    StaleSnapshot,
    UnknownStream,
    UnknownTap,
)
from singerlake.format.keys import FileName
from singerlake.http.answer import Problem
from singerlake.index.entry import Entry
from singerlake.lake import Lake, Selection, source
from singerlake.store import Store

BLOCK = 256 * 1024
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Content:
    """`size` is None where nobody knows it before the end; `may_pack` says that the bytes are
    worth a compression on the way."""

    blocks: Iterator[bytes]
    size: int | None
    media_type: str
    is_gzip: bool
    may_pack: bool = False

    def packed(self) -> Content:
        return replace(self, blocks=_packed(self.blocks), is_gzip=True, may_pack=False)


def no_such_file(id: str) -> Problem:
    return Problem(404, "NoSuchFile", f"there is no file {id[:100]!r}, or its bytes are gone")


def content_of(entry: Entry, lake: Lake | None, uploads: Store | None) -> Content:
    """Raises `Problem` 404 where the bytes are not to be had, and what reading a lake raises."""
    try:
        if entry.upload is not None:
            return _upload(entry, uploads)
        if lake is None:
            raise no_such_file(entry.id)
        if entry.ordinal:
            size = lake.store.size(entry.key)  # a record need not say it, and need not be right
            opened = lake.store.open(entry.key, size)
            # As it is, also where it is gzip: clients would unpack it, or only its first member.
            return replace(_begun(_verified(opened, entry), size, "text/plain"), is_gzip=False)
        try:
            return _lines(_of_its_own(entry, lake))
        except (MissingFile, StaleSnapshot):
            return _lines(_of_its_stream(entry, lake))
    except (BadName, MissingFile, NotFound, UnknownStream, UnknownTap):
        raise no_such_file(entry.id) from None


def _upload(entry: Entry, uploads: Store | None) -> Content:
    """Only what lies below the address that uploads go to: an index may name any."""
    assert entry.upload is not None
    url = entry.upload.url
    if uploads is None or not url.startswith(f"{uploads.url}/"):
        raise no_such_file(entry.id)
    blocks = _blocks(uploads.open(url.removeprefix(f"{uploads.url}/"), entry.size))
    kind, _ = mimetypes.guess_type(str(entry.upload.metadata["path"]))
    return _begun(blocks, entry.size, kind or "text/plain")


def _of_its_own(entry: Entry, lake: Lake) -> Iterator[bytes]:
    """The lines of the object that holds this entry alone. A vacuum and a purge may have been
    quicker than the index: then it is missing."""
    name = FileName.parse(entry.path.rpartition("/")[2])
    if entry.merged or name is None:
        return _of_its_stream(entry, lake)
    return source.blocks(lake.store, entry.key, name, entry.size, entry.hash)


def _of_its_stream(entry: Entry, lake: Lake) -> Iterator[bytes]:
    """The entry's lines out of whatever files hold its numbers now."""
    numbers = Selection(numbers=((entry.lowest_sequence, entry.sequence),))
    snapshot = lake.stream(entry.tap, entry.stream).snapshot()
    if not snapshot.knows(entry.log_id, entry.sequence):
        raise no_such_file(entry.id)
    found = False
    for file in snapshot.files(numbers):
        found = True
        yield from snapshot.blocks(file, numbers)
    if not found:
        raise no_such_file(entry.id)


def _lines(blocks: Iterator[bytes]) -> Content:
    return replace(_begun(blocks, None, "text/plain"), is_gzip=False, may_pack=True)


def _begun(blocks: Iterator[bytes], size: int | None, media_type: str) -> Content:
    """The first block is read before the answer begins: what is missing is found out in time."""
    first = next(blocks, b"")
    return Content(chain((first,), blocks), size, media_type, first.startswith(GZIP))


def _blocks(opened: BinaryIO) -> Iterator[bytes]:
    with closing(opened):
        while block := opened.read(BLOCK):
            yield block


def _verified(opened: BinaryIO, entry: Entry) -> Iterator[bytes]:
    """The last block waits for the checksum: an answer that ends well is right."""
    digest, held = hashlib.sha256(), b""
    for block in _blocks(opened):
        digest.update(block)
        if held:
            yield held
        held = block
    if entry.hash and entry.hash != f"sha256:{digest.hexdigest()}":
        raise CorruptFile(
            f"{entry.key}: expected the checksum {entry.hash}, found another; "
            "run `singerlake check` to see what is damaged"
        )
    yield held


def _packed(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """As one member of gzip."""
    packer = isal_zlib.compressobj(1, wbits=31)
    for block in blocks:
        if part := packer.compress(block):
            yield part
    yield packer.flush()
