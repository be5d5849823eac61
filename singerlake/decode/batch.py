"""From blocks of a Singer file to Arrow record batches.

A block of lines goes through the fast parser, which takes it whole or refuses it. What it refuses
it is given again in smaller pieces, and the small ones that it refuses go line by line: one value
that does not fit costs its neighbours little (`block.py`, `line.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from singerlake.decode.arrow_type import metadata_type
from singerlake.decode.block import BlockParser
from singerlake.decode.line import LineParser
from singerlake.decode.misfit import Tally
from singerlake.decode.request import FIRST_POSITION, PART_COLUMNS, FileFacts, Wanted
from singerlake.decode.rows import TIME, Rows, about_row
from singerlake.decode.value import converter
from singerlake.errors import BadMessage, CorruptFile
from singerlake.format import compression, message
from singerlake.lake.merge import too_many_lines

BLOCK = 1024 * 1024
"""Bytes of lines that best make one record batch: fewer cost more calls, more the cache."""

_SMALL = 16 * 1024
"""Bytes of lines that go line by line where the fast parser refuses them."""


class Decoder:
    """Decodes the files of one read, all into batches of one Arrow schema."""

    def __init__(self, wanted: Wanted, schema: pa.Schema, misfits: Tally | None = None) -> None:
        self.wanted, self.schema = wanted, schema
        converters = {name: converter(kind, name) for name, kind in wanted.columns}
        self._blocks = BlockParser(wanted, schema)
        self._lines = LineParser(wanted, schema, converters)
        self._reach = BLOCK
        self.misfits = Tally() if misfits is None else misfits

    def batches(self, file: FileFacts, chunks: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        """A file's rows; `misfits` counts those of all files. Raises `CorruptFile`, and
        `TooManyMisfits`."""
        timed = "_time_extracted" in self.wanted.metadata or not file.in_time
        position = FIRST_POSITION + file.skipped
        for block in _without_schema(chunks, file.where):
            rows = self._rows(block, position, timed)
            position += rows.lines
            if file.ranges and len(file.ranges) > 1:
                _correct_positions(rows, file.ranges)
            if file.parts and not PART_COLUMNS.isdisjoint(self.wanted.metadata):
                self._add_commits(rows, file)
            if not file.in_time:
                rows = self._in_time(rows)
            if about_row("_misfits") in rows.arrays:  # some lines of the block went one by one
                self._count(rows, file.where)
            if rows.count:
                yield self._batch(rows, file)

    def _count(self, rows: Rows, where: str) -> None:
        found = rows.arrays[about_row("_misfits")]
        at = np.flatnonzero(found.is_valid().to_numpy(zero_copy_only=False))
        for place, position in zip(
            at, rows.arrays[about_row("_position")].take(pa.array(at)), strict=True
        ):
            self.misfits.add(found[place].as_py(), f"{where}, line {position}")
        self.misfits.require(self.wanted.max_misfits, dict(self.wanted.columns))

    def _rows(self, block: bytes, position: int, timed: bool) -> Rows:
        """The block's rows, in as few pieces as the fast parser takes.

        How far a piece reaches follows what was taken before, in other blocks too: it shrinks
        where a piece is refused, and grows where one is taken.
        """
        pieces: list[Rows] = []
        start = 0
        while start < len(block):
            end = block.find(b"\n", start + self._reach - 1) + 1 or len(block)
            piece = block[start:end]
            rows = self._blocks.rows(piece, position, timed)
            if rows is not None:
                self._reach = min(BLOCK, 2 * self._reach)
            elif (reach := min(self._reach, len(piece))) > _SMALL and b"\n" in piece[:-1]:
                self._reach = max(_SMALL, reach // 8)
                continue
            else:
                rows = self._lines.rows(piece, position, timed)
            pieces.append(rows)
            position += rows.lines
            start = end
        return pieces[0] if len(pieces) == 1 else Rows.joined(pieces)

    def _in_time(self, rows: Rows) -> Rows:
        moments = rows.arrays[about_row("_time_extracted")]
        keep = pa.array(np.full(rows.count, True))
        if self.wanted.start is not None:
            keep = pc.and_(keep, pc.greater_equal(moments, pa.scalar(self.wanted.start, TIME)))
        if self.wanted.end is not None:
            keep = pc.and_(keep, pc.less(moments, pa.scalar(self.wanted.end, TIME)))
        return rows.filter(pc.fill_null(keep, True))

    def _add_commits(self, rows: Rows, file: FileFacts) -> None:
        """The lines of a merged file keep the numbers under which they were committed, and what
        else belongs to a commit."""
        ends = np.cumsum([lines for _, lines in file.parts])
        places = rows.arrays[about_row("_position")].to_numpy() - FIRST_POSITION
        found = np.searchsorted(ends, places, side="right")
        if found.max(initial=0) >= len(ends):
            raise too_many_lines(file.where, int(ends[-1]))
        values = {"_sequence": [sequence for sequence, _ in file.parts], **file.commits}
        for name, each in values.items():
            if name in self.wanted.metadata:
                rows.arrays[about_row(name)] = pa.array(each, metadata_type(name)).take(found)

    def _batch(self, rows: Rows, file: FileFacts) -> pa.RecordBatch:
        arrays = []
        for field in self.schema:
            is_metadata = field.name in self.wanted.metadata
            array = rows.arrays.get(about_row(field.name) if is_metadata else field.name)
            if array is None:
                value = file.constants.get(field.name) if is_metadata else None
                array = pa.repeat(pa.scalar(value, field.type), rows.count)
            arrays.append(array)
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def _correct_positions(rows: Rows, ranges: tuple[tuple[int, int], ...]) -> None:
    """Lines that were not handed over count too: their places were not known to the parsers."""
    name = about_row("_position")
    if name not in rows.arrays:
        return
    starts = np.array([skip for skip, _ in ranges])
    taken = np.cumsum([0, *(take for _, take in ranges[:-1])])
    index = rows.arrays[name].to_numpy() - FIRST_POSITION - starts[0]
    at = np.searchsorted(taken, index, side="right") - 1
    rows.arrays[name] = pa.array(index - taken[at] + starts[at] + FIRST_POSITION, pa.int64())


def _without_schema(chunks: Iterable[bytes], where: str) -> Iterator[bytes]:
    """Blocks of whole lines after the SCHEMA line, which has to be there."""
    begun = False
    for piece in compression.line_blocks(iter(chunks)):
        block = piece
        if not begun:
            block = block.lstrip()
            if not block:
                continue
            line, _, block = block.partition(b"\n")
            _require_schema(line, where)
            begun = True
        if block and not block.isspace():
            yield block


def _require_schema(line: bytes, where: str) -> None:
    try:
        kind = message.decode(line).type
    except BadMessage as error:
        raise CorruptFile(f"{where}: {error}, in its first line") from error
    if kind != "SCHEMA":
        raise CorruptFile(f"{where}: expected the SCHEMA line first, found {kind}")
