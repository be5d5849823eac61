"""Reading a Singer file from the store: measured, so that another is never taken for it."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, cast

from singerlake.errors import CorruptFile, MissingFile, NotFound
from singerlake.format import compression, document, singer_file
from singerlake.format import keys as key_names
from singerlake.format.keys import FileName, StreamKeys, StreamObject
from singerlake.format.manifest import KIND, File
from singerlake.format.origin import Origin
from singerlake.format.singer_file import Content
from singerlake.lake.inventory import ListedFile
from singerlake.lake.overtaken import overtaken
from singerlake.store import Store

READ = 1024 * 1024


class _Measured(io.RawIOBase):
    """Passes bytes on from a reader, counting and hashing them; keeps the first ones."""

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self._hash = hashlib.sha256()
        self.count = 0
        self.head = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(cast(bytearray, buffer))
        data = self._source.read(len(view))
        view[: len(data)] = data
        if not self.count:
            self.head = data[:1024]
        self.count += len(data)
        self._hash.update(data)
        return len(data)

    def checksum(self) -> str:
        return "sha256:" + self._hash.hexdigest()

    def close(self) -> None:
        self._source.close()
        super().close()


@dataclass(frozen=True)
class Facts:
    """What a file says of itself when it is read to the end."""

    content: Content
    bytes: int
    checksum: str
    origin: Origin | None


def committed_blocks(
    store: Store, keys: StreamKeys, file: File, at_most: int = compression.BLOCK
) -> Iterator[bytes]:
    """The content of a file that a manifest names, decompressed, in blocks.

    Raises `CorruptDocument` where the row names anything but a file of this stream, what `blocks`
    raises, and `StaleSnapshot` where a purge was quicker.
    """
    key = keys.under(file.path)
    item = key_names.parse(key)
    if not isinstance(item, StreamObject) or item.name is None:
        where = f"{store.url}/{keys.manifest}"
        raise document.corrupt(KIND, where, f"the path {file.path!r} in its files")
    content = _held(store, keys, file, at_most, item.name)
    return content if file.raw_bytes < 0 else _at_most(content, file.raw_bytes, store, key)


def _held(
    store: Store, keys: StreamKeys, file: File, at_most: int, name: FileName
) -> Iterator[bytes]:
    """The blocks of a file that a snapshot names. Raises `StaleSnapshot` where the snapshot is
    older than a purge that removed the file."""
    try:
        yield from blocks(store, keys.under(file.path), name, file.bytes, file.checksum, at_most)
    except MissingFile as error:
        raise overtaken(store, keys, file, file.path) or error from None


def _at_most(content: Iterator[bytes], size: int, store: Store, key: str) -> Iterator[bytes]:
    """Stops what decompresses to more than its row says, and may have no end in sight."""
    total = 0
    for block in content:
        total += len(block)
        if total > size:
            raise CorruptFile(
                f"{store.url}/{key}: expected {size} bytes when decompressed, found more; "
                "run `singerlake check` to see what is damaged"
            )
        yield block


def blocks(
    store: Store,
    key: str,
    name: FileName,
    size: int | None = None,
    checksum: str = "",
    at_most: int = compression.BLOCK,
) -> Iterator[bytes]:
    """The file's content, decompressed, in blocks.

    `size` and `checksum` are what the manifest says, as far as there is one; they are compared at
    the end. Raises `MissingFile` and `CorruptFile`.
    """
    source = _open(store, key, size)
    where = f"{store.url}/{key}"
    yield from _content(source, name, where, at_most)
    for what, expected, found in (
        ("bytes", size, source.count),
        ("checksum", checksum or None, source.checksum()),
    ):
        if expected is not None and expected != found:
            raise CorruptFile(
                f"{where}: {what}: expected {expected}, found {found}; "
                "run `singerlake check` to see what is damaged"
            )
    _require_named(where, name, source.checksum())


def examine(store: Store, key: str, name: FileName, size: int | None = None) -> Facts:
    """Read a file to the end. Raises `MissingFile` and `CorruptFile`."""
    source = _open(store, key, size)
    where = f"{store.url}/{key}"
    content = singer_file.scan(_content(source, name, where), where)
    found = compression.origin(source.head) if name.compression == ".gz" else ""
    return Facts(content, source.count, source.checksum(), Origin.parse(found))


def examine_listed(store: Store, keys: StreamKeys, file: ListedFile) -> Facts:
    """Read a file that a listing found, and require that it belongs where it lies."""
    key = keys.under(file.path)
    facts = examine(store, key, file.name, file.size)
    _require_named(f"{store.url}/{key}", file.name, facts.checksum)
    for what, expected, found in (
        ("stream", keys.stream, facts.content.stream),
        ("schema hash", file.schema_hash, facts.content.schema.hash()),
    ):
        if found != expected:
            raise CorruptFile(
                f"{store.url}/{key}: by its place its {what} is {expected!r}, by its content "
                f"{found!r}; move it to where it belongs"
            )
    return facts


def _require_named(where: str, name: FileName, checksum: str) -> None:
    """A name that has digits of the file's hash is held against it, without any manifest."""
    if not name.may_be_of(checksum):
        raise CorruptFile(
            f"{where}: its name says that its SHA-256 begins with {name.digits}, found {checksum}; "
            "run `singerlake check` to see what is damaged"
        )


def _content(
    source: _Measured, name: FileName, where: str, at_most: int = compression.BLOCK
) -> Iterator[bytes]:
    reader = cast(BinaryIO, io.BufferedReader(source, READ))
    with reader:
        try:
            yield from compression.blocks(reader, name.compression, where, at_most)
        except NotFound:
            raise _missing(where) from None


def _open(store: Store, key: str, size: int | None) -> _Measured:
    try:
        return _Measured(store.open(key, size))
    except NotFound:
        raise _missing(f"{store.url}/{key}") from None


def _missing(where: str) -> MissingFile:
    return MissingFile(
        f"{where}: the manifest names this file, and it is not there; restore it from a backup "
        "or from the bucket's older versions, or run `singerlake rebuild` to record that it is gone"
    )


def entry(path: str, name: FileName, facts: Facts) -> File:
    """The manifest's entry for a file, as far as the file itself tells: no sequence yet."""
    summary, origin = facts.content.summary, facts.origin
    first, last = summary.first or name.first, summary.last or name.last
    if summary.timed < summary.records:
        # The name tells of records that have no time, such as those of a merged file.
        first, last = min(first, name.first), max(last, name.last)
    return File(
        path=path,
        sequence=0,
        records=summary.records,
        bytes=facts.bytes,
        raw_bytes=facts.content.raw_bytes,
        first=first,
        last=last,
        checksum=facts.checksum,
        writer_id=origin.writer_id if origin else "",
        run_id=origin.run_id if origin else "",
        committed=last,
    )
