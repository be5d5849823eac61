"""A Singer file while it is being written: lines in, gzip members out, memory bounded.

Lines gather in a small buffer on the caller's thread. From there they go to another in portions of
some gzip members, into a spool that is memory at first and a local file once it grows.
"""

from __future__ import annotations

import contextlib
import hashlib
import tempfile
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from singerlake.errors import ConfigError
from singerlake.format import compression
from singerlake.format.block import Summary
from singerlake.format.origin import Origin
from singerlake.format.schema import Schema

CHUNK = 256 * 1024
"""Raw bytes in a gzip member: enough that compression loses half a percent by the split, and no
more than a reader's block, so that damage is noticed before the block is handed on."""

PORTION = 4 * CHUNK
"""Raw bytes that go to the compressor at once: each time it has to wait for Python's lock."""

IN_MEMORY = 64 * 1024
"""Compressed bytes of one file that stay in memory: most streams of most syncs are small."""

WAITING = 16 * 1024 * 1024
"""Raw bytes that may wait for the compressor before the caller has to."""


@dataclass(frozen=True)
class Spooled:
    """A finished file, ready for upload: `data` is its bytes, or the local file that holds them."""

    stream: str
    schema: Schema
    schema_hash: str
    summary: Summary
    opened: datetime
    data: bytes | Path
    bytes: int
    raw_bytes: int
    checksum: str

    @property
    def first(self) -> datetime:
        """The time of the first record; of a file without records, when it was begun."""
        return self.summary.first or self.opened

    @property
    def last(self) -> datetime:
        return self.summary.last or self.opened

    def require_whole(self) -> None:
        """Raises `ConfigError` where the local file is not as it was written."""
        if isinstance(self.data, Path):
            _require_size(self.data, self.bytes, _size(self.data))

    def discard(self) -> None:
        if isinstance(self.data, Path):
            self.data.unlink(missing_ok=True)


class Compressor:
    """One thread that compresses, in order, with a bounded backlog."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="singerlake-compress")
        self._room = threading.Condition()
        self._waiting = 0

    def submit(self, spool: Spool, chunks: Sequence[bytes]) -> Future[None]:
        size = sum(map(len, chunks))
        with self._room:
            self._room.wait_for(lambda: self._waiting < WAITING)
            self._waiting += size
        return self._thread.submit(self._run, spool, chunks, size)

    def _run(self, spool: Spool, chunks: Sequence[bytes], size: int) -> None:
        try:
            spool.add(*chunks)
        finally:
            with self._room:
                self._waiting -= size
                self._room.notify()

    def close(self) -> None:
        self._thread.shutdown(wait=True, cancel_futures=True)


class Spool:
    """Compressed members of one file: in memory, then in a local file that is not kept open."""

    def __init__(self, path: Path, level: int, schema_line: bytes, origin: Origin) -> None:
        self._path, self._level = path, level
        self._memory = bytearray()
        self._spilled = 0
        self._hash = hashlib.sha256()
        self._failure: BaseException | None = None
        self.bytes = 0
        self.raw_bytes = 0
        self.add(schema_line, name=str(origin))

    def add(self, *chunks: bytes, name: str = "") -> None:
        """Add a member for each chunk. After a failure every further call fails: the file would
        have a hole."""
        if self._failure is not None:
            raise self._failure
        try:
            self._add(chunks, name)
        except BaseException as failure:
            self._failure = failure
            raise

    def _add(self, chunks: Sequence[bytes], name: str) -> None:
        members = b"".join(compression.member(chunk, self._level, name) for chunk in chunks)
        self._hash.update(members)
        self._memory += members
        self.bytes += len(members)
        self.raw_bytes += sum(map(len, chunks))
        if self._spilled or len(self._memory) > IN_MEMORY:
            self._spill()

    def _spill(self) -> None:
        # Opened anew each time, so that a thousand streams need no thousand descriptors.
        try:
            with self._path.open("ab" if self._spilled else "xb") as file:
                _require_size(self._path, self._spilled, file.tell())
                file.write(self._memory)
        except OSError as error:
            advice = ", or ".join(["make room", *_elsewhere(self._path, "a disk that has it")])
            raise ConfigError(
                f"temporary files cannot be written to {self._path.parent} "
                f"({error.strerror}): {advice}"
            ) from error
        self._spilled += len(self._memory)
        self._memory.clear()

    def finish(self) -> bytes | Path:
        """The bytes of the file, or the local file that holds them, whole."""
        if not self._spilled:
            return bytes(self._memory)
        _require_size(self._path, self._spilled, _size(self._path))
        return self._path

    @property
    def checksum(self) -> str:
        return "sha256:" + self._hash.hexdigest()


class OpenFile:
    """The file of one stream that takes lines now."""

    def __init__(
        self, stream: str, schema: Schema, schema_hash: str, spool: Spool, opened: datetime
    ) -> None:
        self.stream, self.schema, self.schema_hash = stream, schema, schema_hash
        self.opened = opened
        self.buffered = 0
        self.summary = Summary()
        self._buffer: list[bytes] = []
        self._spool = spool
        self._sent = spool.raw_bytes
        self._compressing: Future[None] | None = None

    def has_reached(self, limit: int) -> bool:
        """Whether what was sent takes at least so many compressed bytes.

        Only where it may be so does it wait for the compressor, and look.
        """
        behind = self._sent - self._spool.raw_bytes
        if self._spool.bytes < limit <= self._spool.bytes + behind:
            self._raise_failure(wait=True)
        return self._spool.bytes >= limit

    def append(self, lines: bytes, summary: Summary) -> None:
        """Take whole lines, each with its line feed."""
        self._buffer.append(lines)
        self.buffered += len(lines)
        self.summary += summary

    def send(self, compressor: Compressor) -> None:
        """Hand the buffer to the compressor; waits while that has a long backlog."""
        self._raise_failure(wait=False)
        if self._buffer:
            self._sent += self.buffered
            self._compressing = compressor.submit(self._spool, list(_chunks(self._buffer)))
            self._buffer = []
            self.buffered = 0

    def _raise_failure(self, wait: bool) -> None:
        """A full disk shows on the other thread: raise it on this one."""
        if self._compressing is not None and (wait or self._compressing.done()):
            self._compressing.result()

    def finish(self) -> Spooled:
        """Wait for the compressor (everything has been sent) and close the file."""
        self._raise_failure(wait=True)
        spool = self._spool
        return Spooled(
            stream=self.stream,
            schema=self.schema,
            schema_hash=self.schema_hash,
            summary=self.summary,
            opened=self.opened,
            data=spool.finish(),
            bytes=spool.bytes,
            raw_bytes=spool.raw_bytes,
            checksum=spool.checksum,
        )


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _require_size(path: Path, expected: int, found: int) -> None:
    """A file that was removed meanwhile must not begin again, without its first lines."""
    if found != expected:
        told = ["something removes or changes files there", *_elsewhere(path, "another folder")]
        raise ConfigError(
            f"{path}: expected the {expected} bytes that were written to this temporary file, "
            f"found {found}; {': '.join(told)}. Nothing of it was committed"
        )


def _elsewhere(path: Path, what: str) -> Iterator[str]:
    """What to do with the system's temporary folder: a lake's own cannot be put elsewhere."""
    with contextlib.suppress(FileNotFoundError):  # there is none
        if Path(tempfile.gettempdir()) in path.parents[:3]:  # a lake may lie in it too
            yield f"let TMPDIR name {what}"


def _chunks(pieces: list[bytes]) -> Iterator[bytes]:
    """The pieces joined to what a member holds. One that is longer is a member of its own."""
    chunk: list[bytes] = []
    size = 0
    for piece in pieces:
        if chunk and size + len(piece) > CHUNK:
            yield b"".join(chunk)
            chunk, size = [], 0
        chunk.append(piece)
        size += len(piece)
    yield b"".join(chunk)
