"""One line after the other: slow and tolerant. It decides what fits its type and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from singerlake.decode.activation import ACTIVATE_VERSION
from singerlake.decode.files import file_paths_of
from singerlake.decode.json_text import MISFIT, members, normal
from singerlake.decode.misfit import CORRUPT
from singerlake.decode.request import ROW_COLUMNS, Wanted
from singerlake.decode.rows import ROW_TYPES, Rows, about_row
from singerlake.decode.value import Converter, Misplaced, converter
from singerlake.format.blob import FIELD
from singerlake.format.nesting import is_deep_line
from singerlake.format.record_type import LONG, TIMESTAMP

_ENVELOPE = {
    name: converter(kind, name)
    for name, kind in (("_version", LONG), ("_time_extracted", TIMESTAMP))
}
_SHOWN = 200
"""Characters of a line that is no record: all of it is in `_corrupt_record`."""

Values = dict[str, Any]


class LineParser:
    """Parses lines of one read. `converters` are those of its columns."""

    def __init__(
        self, wanted: Wanted, schema: pa.Schema, converters: Mapping[str, Converter]
    ) -> None:
        self._wanted, self._schema, self._converters = wanted, schema, converters

    def rows(self, block: bytes, position: int, timed: bool) -> Rows:
        """The block's rows, with `_misfits`, whether that is wanted or not: they are counted."""
        about = {"_position", "_misfits", *(set(ROW_COLUMNS) & set(self._wanted.metadata))}
        if timed:
            about.add("_time_extracted")
        columns: dict[str, list[Any]] = {
            name: [] for name in (*self._converters, *map(about_row, about))
        }
        lines = [line for line in block.split(b"\n") if line.strip()]
        for number, line in enumerate(lines, start=position):
            values = self._row(line, about)
            if values is None:
                continue
            values[about_row("_position")] = number
            for name, column in columns.items():
                column.append(values.get(name))
        arrays = {name: pa.array(values, self._type(name)) for name, values in columns.items()}
        return Rows(len(columns[about_row("_position")]), arrays, len(lines))

    def _type(self, name: str) -> pa.DataType:
        return ROW_TYPES.get(name) or self._schema.field(name).type

    def _row(self, line: bytes, about: set[str]) -> Values | None:
        """A record's values; None for other messages."""
        try:
            if is_deep_line(line):
                raise ValueError(MISFIT)
            envelope = members(line)
            if _is_activation(envelope.get("type", b"")):
                return None
            record = members(envelope.get("record", b""))
        except (ValueError, RecursionError):
            whole = _readable(line)
            return {about_row(CORRUPT): whole, about_row("_misfits"): [(CORRUPT, whole[:_SHOWN])]}
        misfits: list[Misplaced] = []
        values: Values = {}
        sent: dict[str, str] = {}
        for name, convert in self._converters.items():
            known = len(misfits)
            if (text := record.get(name)) is not None:
                values[name] = convert(text, misfits)
            if len(misfits) > known:
                sent[name] = _as_sent(record[name])
        for name, convert in _ENVELOPE.items():
            if name not in about:
                continue
            known, told = len(misfits), envelope.get(name[1:], b"null")
            values[about_row(name)] = convert(told, misfits)
            if len(misfits) > known and name in self._wanted.metadata:
                sent[name] = _as_sent(told)
        if "_files" in about:
            values[about_row("_files")] = file_paths_of(envelope.get(FIELD, b"null"))
        values[about_row("_record")] = _readable(envelope["record"])
        if sent:
            values[about_row(CORRUPT)] = values[about_row("_record")]
            values[about_row("_misfits")] = list(sent.items())
        return values


def _is_activation(kind: bytes) -> bool:
    """Whether a message's type is this one, in whatever letters it was written."""
    told = normal(kind) if b"\\" in kind else kind.strip()
    return told == ACTIVATE_VERSION


def _as_sent(text: bytes) -> str:
    """A value's text; where it is no JSON, different bytes make different texts: keys are
    compared by them."""
    try:
        return normal(text).decode()
    except (ValueError, RecursionError):
        return text.decode("utf-8", "backslashreplace")


def _readable(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")
