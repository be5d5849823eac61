"""gzip, read by the member: what one holds is handed on once its checksum has held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO

from isal.igzip_lib import DECOMP_GZIP, IgzipDecompressor

READ = 128 * 1024
"""Compressed bytes that are read at a time."""

HELD = 1024 * 1024
"""Bytes of a member that wait for its checksum: more than ours hold, but for the longest lines.
What is larger comes as it is read, and its checksum after it."""


def blocks(source: BinaryIO, at_most: int) -> Iterator[bytes]:
    """The content in blocks of at most `at_most` bytes; small members share one.

    Raises `EOFError` or ISA-L's error for a damaged member, after all that came before it.
    """
    held: list[bytes] = []
    size = 0
    try:
        for piece in _pieces(source, at_most):
            if held and size + len(piece) > at_most:
                yield b"".join(held)
                held, size = [], 0
            held.append(piece)
            size += len(piece)
    except Exception:
        if held:
            yield b"".join(held)
        raise
    if held:
        yield b"".join(held)


def _pieces(source: BinaryIO, at_most: int) -> Iterator[bytes]:
    """Each member in pieces of at most `at_most` bytes, none of them empty."""
    data = source.read(READ)
    while data:
        member = IgzipDecompressor(DECOMP_GZIP)
        waiting: list[bytes] = []
        size = 0
        while not member.eof:
            if member.needs_input and not data:
                data = source.read(READ)
                if not data:
                    raise EOFError("the end of the file inside a gzip member")
            piece = member.decompress(data, at_most)
            data = b""
            if piece:
                waiting.append(piece)
                size += len(piece)
            if size > HELD:
                yield from waiting
                waiting = []
        yield from waiting
        # Tapes, and tools that write in blocks, pad a file with zeros.
        data = member.unused_data.lstrip(b"\0") or _behind_zeros(source)


def _behind_zeros(source: BinaryIO) -> bytes:
    """The next bytes that are no padding; none at the end."""
    while data := source.read(READ):
        if data := data.lstrip(b"\0"):
            return data
    return b""
