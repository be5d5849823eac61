"""A block of lines, all at once: the fast way, which takes a block whole or refuses it.

msgspec decodes the wanted members of every line into structs and passes over the others; the
structs' members become arrays. What it would let pass is looked at here: two objects on a line,
one object on two lines, lines nested too deeply, bytes that are not UTF-8.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from singerlake.decode.activation import ACTIVATE_VERSION
from singerlake.decode.column import Members, column
from singerlake.decode.files import file_paths
from singerlake.decode.json_text import MISFIT
from singerlake.decode.request import Wanted
from singerlake.decode.rows import ROW_TYPES, Rows, about_row
from singerlake.format.blob import FIELD
from singerlake.format.nesting import DEEPEST_LINE, has_room_for_depth, is_deep_line
from singerlake.format.record_type import LONG, TIMESTAMP

_FEED, _RETURN, _OPEN, _CLOSE = b"\n\r{}"
_CURLY = np.uint8(ord("{") ^ ord("["))  # the bit that makes a bracket curly
_ENVELOPE = {
    name: (about_row(f"_{name}"), column(kind, ROW_TYPES[about_row(f"_{name}")]))
    for name, kind in (("version", LONG), ("time_extracted", TIMESTAMP))
}
"""What a message has beside its record: under which name it is kept, and its column."""


class BlockParser:
    """Parses blocks of one read."""

    def __init__(self, wanted: Wanted, schema: pa.Schema) -> None:
        self._names = [name for name, _ in wanted.columns]
        self._metadata = frozenset(wanted.metadata)
        self._decoders: dict[tuple[bool, bool], msgspec.json.Decoder[Any]] = {}
        self._members: Members | None
        try:
            self._members = Members.of(wanted.columns, [schema.field(n) for n in self._names])
        except ValueError:
            self._members = None  # a name that msgspec does not take: line by line, then

    def rows(self, block: bytes, position: int, timed: bool) -> Rows | None:
        """The block's rows; None where it has to go line by line."""
        count = _lines_of_objects(block)
        if self._members is None or count is None:
            return None
        # Other messages are rare: where none can be, no line's type is looked at.
        mixed = ACTIVATE_VERSION in block
        try:
            if not block.isascii():
                block.decode()
            lines = self._decoder(self._members, timed, mixed).decode_lines(block)
            if len(lines) != count:
                return None
            positions = np.arange(position, position + count)
            if mixed:
                is_row = [line.type != "ACTIVATE_VERSION" for line in lines]
                lines = [line for line, keep in zip(lines, is_row, strict=True) if keep]
                positions = positions[is_row]
            arrays = self._arrays(self._members, lines, timed)
        except (ValueError, ArithmeticError, RecursionError, pa.ArrowException):
            return None
        arrays[about_row("_position")] = pa.array(positions)
        return Rows(len(lines), arrays, count)

    def _arrays(self, members: Members, lines: Sequence[Any], timed: bool) -> dict[str, pa.Array]:
        """The columns of these lines, by name. Raises `ValueError` where one has no record."""
        records = [line.record for line in lines]
        if None in records:
            raise ValueError(MISFIT)
        arrays = {}
        if "_record" in self._metadata:
            texts = list(map(bytes, records))
            arrays[about_row("_record")] = pa.array(texts, pa.string())
            records = list(map(msgspec.json.Decoder(members.struct).decode, texts))
        arrays |= zip(self._names, members.arrays(records), strict=True)
        if "_files" in self._metadata:
            named = [file_paths(line.singerlake_files) for line in lines]
            arrays[about_row("_files")] = pa.array(named, ROW_TYPES[about_row("_files")])
        for name in self._envelope(timed):
            kept_as, made = _ENVELOPE[name]
            arrays[kept_as] = made.array([getattr(line, name) for line in lines])
        return arrays

    def _envelope(self, timed: bool) -> list[str]:
        names = ["version"] if "_version" in self._metadata else []
        return [*names, "time_extracted"] if timed else names

    def _decoder(self, members: Members, timed: bool, mixed: bool) -> msgspec.json.Decoder[Any]:
        """Of lines; in `mixed` blocks they may be other messages than records."""
        made = self._decoders.get((timed, mixed))
        if made is None:
            record = msgspec.Raw if "_record" in self._metadata else members.struct
            fields: list[Any] = [("record", record)]
            if mixed:
                fields = [("type", str, ""), ("record", record, None)]
            fields += [
                (name, _ENVELOPE[name][1].annotation, None) for name in self._envelope(timed)
            ]
            if "_files" in self._metadata:
                fields.append((FIELD, Any, None))
            # Elsewhere a type in other letters, such as \u0041, is refused with its block.
            kind, name = (None, None) if mixed else ("RECORD", "type")
            line = msgspec.defstruct("Line", fields, gc=False, tag=kind, tag_field=name)
            made = msgspec.json.Decoder(line)
            self._decoders[timed, mixed] = made
        return made


def _lines_of_objects(block: bytes) -> int | None:
    """How many lines there are, if every one of them begins and ends like an object, none too deep.

    Where the whole is also valid, and holds as many objects as lines, each line is one: between
    two braces that face away from each other, nothing but the end of an object can stand.
    """
    if block[:1] != b"{":
        return None
    bytes_ = np.frombuffer(block, np.uint8)
    feeds = np.flatnonzero(bytes_ == _FEED)
    if feeds.size and feeds[-1] == bytes_.size - 1:
        feeds = feeds[:-1]
    before = bytes_[feeds - 1]
    if (before == _RETURN).any():
        before = np.where(before == _RETURN, bytes_[feeds - 2], before)
    if not ((before == _CLOSE).all() and (bytes_[feeds + 1] == _OPEN).all()):
        return None
    longest = np.diff(feeds, prepend=-1, append=bytes_.size).max()
    crowded = has_room_for_depth(block, int(longest)) and _is_crowded(bytes_, longest)
    if crowded and any(map(is_deep_line, block.split(b"\n"))):
        return None
    return int(feeds.size) + 1


def _is_crowded(block: Any, longest: int) -> bool:
    """Whether as many brackets as a deep line has are as close together as in the longest line."""
    opening = np.flatnonzero((block | _CURLY) == _OPEN)
    return bool((opening[DEEPEST_LINE:] - opening[:-DEEPEST_LINE] < longest).any())
