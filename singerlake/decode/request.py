"""What a read asks of a stream and of each file: columns, metadata, times; and what the rows of a
file have in common."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from singerlake.format.keys import StreamKeys
from singerlake.format.record_type import Numbers, Type
from singerlake.lake.log import EVERYTHING, Selection

FILE_COLUMNS = ("_tap", "_stream", "_schema_hash", "_sequence", "_file")
"""The metadata that is the same for all rows of a file."""

COMMIT_COLUMNS = ("_run_id", "_committed")
"""The metadata that is the same for all rows of a commit; null where an older vacuum forgot it."""

PART_COLUMNS = frozenset({"_sequence", *COMMIT_COLUMNS})
"""The metadata that differs from part to part of a merged file."""

ROW_COLUMNS = (
    "_position",
    "_time_extracted",
    "_version",
    "_record",
    "_corrupt_record",
    "_misfits",
    "_files",
)

ENVELOPE_COLUMNS = ("_version", "_time_extracted")
"""The metadata that a tap sends beside each record, so that it may not fit either."""

METADATA = (*FILE_COLUMNS, *COMMIT_COLUMNS, *ROW_COLUMNS)
STANDARD_METADATA = (*FILE_COLUMNS, "_position", "_time_extracted", "_version")
"""What `metadata` set to true adds."""

FIRST_POSITION = 2
"""The line of a file's first record: `_position` counts lines from 1, blank ones aside."""


SchemaVersions = tuple[str, ...] | Literal["all", "latest"]
"""All, the one in use, or those of these hashes."""


@dataclass(frozen=True)
class StreamRequest:
    """What a read asks of a stream.

    `columns` are names of the record's columns, None for all; `metadata` are names of `METADATA`.
    The columns in `exact` hold no doubles, as those of key properties. More than `max_misfits`
    values that do not fit are an error; None allows any number.
    """

    tap: str
    stream: str
    columns: tuple[str, ...] | None = None
    metadata: tuple[str, ...] = ()
    numbers: Numbers = "double"
    schema_versions: SchemaVersions = "all"
    exact: tuple[str, ...] = ()
    selection: Selection = EVERYTHING
    max_misfits: int | None = None

    @property
    def keys(self) -> StreamKeys:
        return StreamKeys(self.tap, self.stream)


@dataclass(frozen=True)
class Wanted:
    """What to decode: the record's columns and the metadata, and what rows to leave out.

    More than `max_misfits` values that do not fit are an error; None allows any number. Rows whose
    time is before `start`, or not before `end`, are left out; a row without a time stays.
    """

    columns: tuple[tuple[str, Type], ...]
    metadata: tuple[str, ...] = ()
    max_misfits: int | None = None
    start: datetime | None = None
    end: datetime | None = None


@dataclass(frozen=True)
class FileFacts:
    """What the rows of one file have in common; `where` names it in messages.

    `in_time` is False where some rows may lie outside the wanted time. A merged file has `parts`,
    the lines committed under each sequence number, and `commits`, for each part the values of the
    commit columns. Only the lines in `ranges` were handed over, all where that is None: each range
    has the number of lines before it, and that of its own.
    """

    where: str
    constants: dict[str, Any]
    in_time: bool = True
    parts: tuple[tuple[int, int], ...] = ()
    commits: dict[str, list[Any]] = field(default_factory=dict)
    ranges: tuple[tuple[int, int], ...] | None = None

    @property
    def skipped(self) -> int:
        """How many lines stand before the first that was handed over."""
        return self.ranges[0][0] if self.ranges else 0
