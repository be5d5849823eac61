"""The columns of some lines, as Arrow arrays, and the types of those that are about the lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

TIME = pa.timestamp("us", tz="UTC")


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
    about_row("_files"): pa.map_(pa.string(), pa.string()),
}
