"""The content of a file, in blocks of whole lines."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import msgspec

from singerlake.errors import CorruptFile
from singerlake.format import compression, message
from singerlake.format.manifest import File
from singerlake.lake import Selection, Snapshot
from singerlake.lake.snapshot import UNKNOWN

Opened = tuple[File, Iterator[bytes]]
"""A file, and its content in blocks of whole lines."""

_space_begins_a_line = re.compile(rb"\n\s").search


def opened(snapshot: Snapshot, file: File, selection: Selection) -> Opened:
    if not selection.holds_all_of(file):
        # Of a merged file, what came since the bookmark: only those who read it can count that.
        file = msgspec.structs.replace(file, records=UNKNOWN)
    return file, _content(snapshot, file, selection)


def without_blank_lines(block: bytes) -> bytes:
    """A block of whole lines, less those that are empty or of white space; the others as they are.

    The last line's feed may be lost, as where all that follows it is blank.
    """
    if not block[:1].isspace() and not _space_begins_a_line(block):
        return block
    if block.isspace():
        return b""  # at once: an enemy's file may hold gigabytes of nothing
    return b"\n".join(line for line in block.split(b"\n") if line.strip())


def records_in(block: bytes) -> int:
    """How many RECORD lines a block of a file has, behind its SCHEMA line."""
    return sum(
        bool(line.strip())
        and (b"ACTIVATE_VERSION" not in line or message.decode(line).type == "RECORD")
        for line in block.split(b"\n")
    )


def _content(snapshot: Snapshot, file: File, selection: Selection) -> Iterator[bytes]:
    """The file in blocks of whole lines, the first of which begins with the SCHEMA line."""
    blocks = compression.line_blocks(snapshot.blocks(file, selection))
    for block in blocks:
        if head := block.lstrip():
            yield head
            yield from blocks
            return
    where = f"{snapshot.store.url}/{snapshot.keys.under(file.path)}"
    raise CorruptFile(f"{where}: expected a SCHEMA line, found an empty file")


def parsed(line: bytes) -> dict[str, Any]:
    """A stored message, with every number exact."""
    content: dict[str, Any]
    try:
        content = json.loads(line, parse_float=Decimal)
    except ValueError:
        # Python makes no integer of more than 4300 digits.
        content = json.loads(line, parse_float=Decimal, parse_int=Decimal)
    return content
