"""The bytes of an entry: as they were committed, whatever holds them today."""

from __future__ import annotations

import hashlib
import mimetypes
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from typing import BinaryIO

from singerlake.errors import (
    BadName,
    CorruptFile,
    MissingFile,
    NotFound,
    StaleSnapshot,
    UnknownStream,
    UnknownTap,
)
from singerlake.http.answer import Problem
from singerlake.index.entry import Entry
from singerlake.lake import Lake, Selection
from singerlake.store import Store

BLOCK = 256 * 1024
GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Content:
    """`size` is None where nobody knows it before the end."""

    blocks: Iterator[bytes]
    size: int | None
    media_type: str
    is_gzip: bool


def no_such_file(id: str) -> Problem:
    return Problem(404, "NoSuchFile", f"there is no file {id[:100]!r}, or its bytes are gone")


def content_of(entry: Entry, lake: Lake | None, uploads: Store | None) -> Content:
    """Raises `Problem` 404 where the bytes are not to be had, and what reading a lake raises."""
    try:
        if entry.upload is not None:
            return _upload(entry, uploads)
        if lake is None:
            raise no_such_file(entry.id)
        return _object(entry, lake) or _lines(entry, lake)
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


def _object(entry: Entry, lake: Lake) -> Content | None:
    """The object that holds this entry alone, if it is still there: a vacuum may have merged it
    since."""
    if entry.merged:
        return None
    try:
        opened = lake.store.open(entry.key, entry.size)
        return _begun(_verified(opened, entry), entry.size, "text/plain")
    except NotFound:
        return None


def _lines(entry: Entry, lake: Lake) -> Content:
    """The entry's lines out of whatever files hold its numbers now."""
    numbers = Selection(numbers=((entry.lowest_sequence, entry.sequence),))
    try:
        snapshot = lake.stream(entry.tap, entry.stream).snapshot()
        if entry.ordinal or snapshot.log_id != entry.log_id:
            raise no_such_file(entry.id)
        files = list(snapshot.files(numbers))
        if not files:
            raise no_such_file(entry.id)
        blocks = chain.from_iterable(snapshot.blocks(file, numbers) for file in files)
        return _begun(blocks, None, "text/plain")
    except StaleSnapshot:
        # A purge was quicker: the manifest names other files by now.
        snapshot = lake.stream(entry.tap, entry.stream).snapshot()
        again = chain.from_iterable(
            snapshot.blocks(one, numbers) for one in snapshot.files(numbers)
        )
        return _begun(again, None, "text/plain")


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
