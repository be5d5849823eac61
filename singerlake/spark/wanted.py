"""What a read wants of the files: columns, metadata, times; and what a file's rows share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from singerlake.spark.types import Type

FILE_COLUMNS = ("_tap", "_stream", "_schema_hash", "_sequence", "_file")
"""The metadata that is the same for all rows of a file."""

ROW_COLUMNS = (
    "_position",
    "_time_extracted",
    "_version",
    "_record",
    "_corrupt_record",
    "_misfits",
)

FIRST_POSITION = 2
"""The line of a file's first record: `_position` counts lines from 1, blank ones aside."""

TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True)
class Wanted:
    """What to decode: the record's columns and the metadata, and what rows to leave out.

    `failfast` raises for a value that does not fit. Rows whose time is before `start`, or not
    before `end`, are left out; a row without a time stays.
    """

    columns: tuple[tuple[str, Type], ...]
    metadata: tuple[str, ...] = ()
    failfast: bool = False
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class FileFacts:
    """What the rows of one file have in common; `where` names it in messages.

    `in_time` is False where some rows may lie outside the wanted time. A merged file has `parts`,
    the lines committed under each sequence number, of which `skipped` lines were not handed over.
    """

    where: str
    constants: dict[str, Any]
    in_time: bool = True
    parts: tuple[tuple[int, int], ...] = ()
    skipped: int = 0


@dataclass(frozen=True)
class Rows:
    """Columns of a block by name, and how many lines of the file they came from.

    Metadata stands under the name that `about_row` gives it.
    """

    count: int
    arrays: dict[str, pa.Array]
    lines: int

    @classmethod
    def joined(cls, pieces: Sequence[Rows]) -> Rows:
        """One after the other; a column that a piece lacks is null there."""
        types = {name: array.type for piece in pieces for name, array in piece.arrays.items()}
        arrays = {
            name: pa.concat_arrays(
                [
                    piece.arrays[name] if name in piece.arrays else pa.nulls(piece.count, kind)
                    for piece in pieces
                ]
            )
            for name, kind in types.items()
        }
        return cls(
            sum(piece.count for piece in pieces), arrays, sum(piece.lines for piece in pieces)
        )

    def filter(self, keep: pa.Array) -> Rows:
        arrays = {name: array.filter(keep) for name, array in self.arrays.items()}
        return Rows(pc.sum(keep).as_py() or 0, arrays, self.lines)


def about_row(name: str) -> str:
    """Under which name a row's metadata is kept: a record may have a property of that name."""
    return "\0" + name


ROW_TYPES: dict[str, pa.DataType] = {
    about_row("_position"): pa.int64(),
    about_row("_version"): pa.int64(),
    about_row("_time_extracted"): TIME,
    about_row("_record"): pa.string(),
    about_row("_corrupt_record"): pa.string(),
    about_row("_misfits"): pa.map_(pa.string(), pa.string()),
}
