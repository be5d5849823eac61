"""Reading files back: verified, and never half of one."""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import BinaryIO

from singerlake.errors import ConfigError, CorruptFile, MissingFile, NotFound
from singerlake.format import blob_keys
from singerlake.format.keys import StreamKeys
from singerlake.lake.blobs.staged import BLOCK, Taken, not_told
from singerlake.lake.lake import Stream
from singerlake.runtime import REAL


def open_file(stream: Stream, path: str) -> BinaryIO:
    """The bytes at a path below the stream's folder, as an entry or a reference has it.

    Whoever reads to the end has to compare the hash: `fetch` does. Raises `MissingFile`.
    """
    key = StreamKeys(stream.tap_id, stream.name).under(path)
    try:
        return stream.store.open(key, stream.store.size(key))
    except NotFound:
        raise MissingFile(
            f"{stream.store.url}/{key}: a record names these bytes, and they are not there; "
            "restore them, or forget the file by `singerlake forget`"
        ) from None


def copy(stream: Stream, path: str, target: BinaryIO, taken: Taken = not_told) -> int:
    """Write the bytes to a file object; returns how many. Raises `CorruptFile` at the end."""
    digest, size = hashlib.sha256(), 0
    with open_file(stream, path) as source:
        while block := source.read(BLOCK):
            digest.update(block)
            size += len(block)
            target.write(block)
            taken(len(block))
    if digest.hexdigest() != blob_keys.sha256_of(path):
        raise CorruptFile(
            f"{stream.store.url}/{StreamKeys(stream.tap_id, stream.name).under(path)}: its bytes "
            f"have the hash {digest.hexdigest()}: they are damaged. Restore them"
        )
    return size


def fetch(stream: Stream, path: str, target: str | Path, taken: Taken = not_told) -> Path:
    """Write the bytes to a local file, which appears whole or not at all; one that is there is
    replaced. Raises `ConfigError` where it cannot be written."""
    place = Path(target)
    aside = place.with_name(f".{place.name[:100]}.{REAL.new_id()}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with aside.open("xb") as file:
            copy(stream, path, file, taken)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(place)
    except OSError as error:
        raise ConfigError(f"{place}: the file cannot be written ({error.strerror})") from error
    finally:
        with contextlib.suppress(OSError):
            aside.unlink(missing_ok=True)
    return place
