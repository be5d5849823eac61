"""Compressed bytes: what a Singer file is made of.

A `.singer.gz` file is a row of gzip members. The first holds the SCHEMA line alone, each of the
others some whole lines. A member needs no compressor to be kept open, so that hundreds of
streams cost no memory, and a later tool can join files, or read from the middle, by the member.
The first member's header names the file's origin in its file name field.
"""

from __future__ import annotations

import bz2
import io
import struct
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from typing import BinaryIO, cast

from isal import isal_zlib
from zlib_ng import zlib_ng

from singerlake.errors import CorruptFile
from singerlake.format import inflate

BLOCK = 256 * 1024
"""How many decompressed bytes a reader hands on at a time, unless more are asked for."""

LONGEST_LINE = 128 * 1024 * 1024 + 1024
"""Bytes that no stored line exceeds: the longest that is taken, with a time spliced in."""

FASTEST, SMALLEST, DEFAULT = 1, 9, 1
QUICK = 3
"""The last level of ISA-L; those above are zlib-ng's."""

_MAGIC = b"\x1f\x8b\x08"
_HAS_NAME = 8
_UNKNOWN_SYSTEM = 255

# bz2 and gzip report bad data as an OSError, but one without an errno.
_INFLATE_ERROR: type[Exception] = cast(type[Exception], isal_zlib.error)
_DATA_ERRORS = (EOFError, ValueError, OSError, _INFLATE_ERROR)


def member(data: bytes, level: int = DEFAULT, name: str = "") -> bytes:
    """`data` as one gzip member.

    No time goes into the header: the same data always makes the same bytes.
    """
    if level <= QUICK and not name:
        # The same bytes as below, by one call: after each its thread waits for Python's lock.
        return isal_zlib.compress(data, level, wbits=31)
    flags = _HAS_NAME if name else 0
    header = _MAGIC + struct.pack("<BIBB", flags, 0, 0, _UNKNOWN_SYSTEM)
    if name:
        header += name.encode("latin-1") + b"\0"
    trailer = struct.pack("<II", isal_zlib.crc32(data), len(data) & 0xFFFFFFFF)
    return b"".join((header, _deflate(data, level), trailer))


def _deflate(data: bytes, level: int) -> bytes:
    if level <= QUICK:
        return isal_zlib.compress(data, level, wbits=-15)
    return zlib_ng.compress(data, min(level, SMALLEST), wbits=-15)


def origin(head: bytes) -> str:
    """The file name field of a gzip file's first bytes; "" where it has none."""
    if head[:3] != _MAGIC or len(head) < 10 or not head[3] & _HAS_NAME or head[3] & 4:
        return ""
    end = head.find(b"\0", 10)
    return head[10:end].decode("latin-1") if end > 0 else ""


def with_origin(head: bytes, text: str) -> bytes:
    """A gzip file's first bytes with another text in the file name field, which must be there.

    Nothing else changes: the field is in no check sum.
    """
    end = head.index(b"\0", 10)
    return head[:10] + text.encode("latin-1") + head[end:]


def blocks(source: BinaryIO, compression: str, where: str, at_most: int = BLOCK) -> Iterator[bytes]:
    """The decompressed content in blocks of at most `at_most` bytes.

    `compression` is a file name's ending: `.gz`, `.bz2` or nothing. Raises `CorruptFile`,
    which names `where`, after everything before the damage. That is also where a line has no
    end: a few kilobytes can decompress to gigabytes.
    """
    unended = 0
    decompressed = _decompressed(source, compression, at_most)
    while True:
        try:
            block = next(decompressed, b"")
        except _DATA_ERRORS as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            raise CorruptFile(
                f"{where}: expected whole {compression} data, found {error}; "
                "run `singerlake check` to see what is damaged"
            ) from error
        if not block:
            return
        feed = block.rfind(b"\n")
        unended = unended + len(block) if feed < 0 else len(block) - feed - 1
        if unended > LONGEST_LINE:
            raise CorruptFile(
                f"{where}: expected lines, found one of more than {LONGEST_LINE} bytes; "
                "nothing that Singerlake writes has it"
            )
        yield block


def _decompressed(source: BinaryIO, compression: str, at_most: int) -> Iterator[bytes]:
    if compression == ".gz":
        return inflate.blocks(source, at_most)
    reader = cast(BinaryIO, bz2.BZ2File(source)) if compression == ".bz2" else source
    return iter(partial(reader.read, at_most), b"")


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Whole lines, without their line feed; blank ones are left out."""
    return chain.from_iterable(line_lists(chunks))


def line_lists(chunks: Iterator[bytes]) -> Iterator[list[bytes]]:
    """The same, of a block at a time: some lines, however long they are."""
    for block in line_blocks(chunks):
        if block.isspace():
            continue  # at once: an enemy's file may hold gigabytes of nothing
        yield [line for line in block.split(b"\n") if line.strip()]


def line_blocks(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The same bytes in blocks that end with a line: for work on many lines at once.

    Only the last block may lack its line feed.
    """
    held = io.BytesIO()
    for chunk in chunks:
        cut = chunk.rfind(b"\n") + 1
        if cut == 0:
            held.write(chunk)
            continue
        yield b"".join((held.getvalue(), memoryview(chunk)[:cut]))
        held = io.BytesIO()
        held.write(chunk[cut:])
    if held.tell():
        yield held.getvalue()


def some_lines(chunks: Iterator[bytes], skip: int, take: int) -> Iterator[bytes]:
    """The first line, then `take` of the lines that follow `skip` others; see `line_ranges`."""
    return line_ranges(chunks, [(skip, take)])


def line_ranges(chunks: Iterator[bytes], ranges: Sequence[tuple[int, int]]) -> Iterator[bytes]:
    """The first line, then for each (skip, take) `take` of the lines behind the first one and
    `skip` others: whole lines, in blocks. The ranges are in order, and do not overlap.

    Blank lines count for nothing, and are left out. What follows is read to its end all the same,
    because only there it shows whether the file is whole.
    """
    wanted = [(0, 1), *((1 + skip, 1 + skip + take) for skip, take in ranges if take)]
    passed = current = 0
    for found in line_lists(chunks):
        some: list[bytes] = []
        end = passed + len(found)
        for begin, stop in wanted[current:]:
            some += found[max(begin - passed, 0) : max(stop - passed, 0)]
            if stop > end:
                break
            current += 1
        passed = end
        if some:
            yield b"\n".join(some) + b"\n"
        if current == len(wanted):
            break
    for _ in chunks:
        pass
