"""One line after the other: slow and tolerant. It decides what fits its type and what does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from singerlake.decode.activation import ACTIVATE_VERSION
from singerlake.decode.json_text import MISFIT, members, normal
from singerlake.decode.request import ROW_COLUMNS, Wanted
from singerlake.decode.rows import ROW_TYPES, Rows, about_row
from singerlake.decode.value import Converter, converter
from singerlake.errors import BadMessage
from singerlake.format.nesting import is_deep_line
from singerlake.format.record_type import LONG, TIMESTAMP

_version = converter(LONG, "version")
_time = converter(TIMESTAMP, "time_extracted")

Values = dict[str, Any]


class LineParser:
    """Parses lines of one read. `converters` are those of its columns."""

    def __init__(
        self, wanted: Wanted, schema: pa.Schema, converters: Mapping[str, Converter]
    ) -> None:
        self._wanted, self._schema, self._converters = wanted, schema, converters

    def rows(self, block: bytes, position: int, timed: bool, where: str) -> Rows:
        """The block's rows. Raises `BadMessage` for what does not fit, where that is wanted."""
        about = {"_position", *(set(ROW_COLUMNS) & set(self._wanted.metadata))}
        if timed:
            about.add("_time_extracted")
        columns: dict[str, list[Any]] = {
            name: [] for name in (*self._converters, *map(about_row, about))
        }
        lines = [line for line in block.split(b"\n") if line.strip()]
        for number, line in enumerate(lines, start=position):
            found = self._row(line, about)
            if found is None:
                continue
            values, misfits = found
            if misfits and self._wanted.failfast:
                raise BadMessage(
                    f"{where}, line {number}: {', '.join(misfits)} does not fit its type; read "
                    "with mode permissive to get null there, and the record in _corrupt_record"
                )
            values[about_row("_position")] = number
            for name, column in columns.items():
                column.append(values.get(name))
        arrays = {name: pa.array(values, self._type(name)) for name, values in columns.items()}
        return Rows(len(columns[about_row("_position")]), arrays, len(lines))

    def _type(self, name: str) -> pa.DataType:
        return ROW_TYPES.get(name) or self._schema.field(name).type

    def _row(self, line: bytes, about: set[str]) -> tuple[Values, list[str]] | None:
        """A record's values, and the names of those that do not fit; None for other messages."""
        try:
            if is_deep_line(line):
                raise ValueError(MISFIT)
            envelope = members(line)
            if envelope.get("type", b"").strip() == ACTIVATE_VERSION:
                return None
            record = members(envelope.get("record", b""))
        except (ValueError, RecursionError):
            return {about_row("_corrupt_record"): _readable(line)}, ["the whole line"]
        misfits: list[str] = []
        values: Values = {}
        sent: dict[str, str] = {}
        for name, convert in self._converters.items():
            known = len(misfits)
            if (text := record.get(name)) is not None:
                values[name] = convert(text, misfits)
            if len(misfits) > known:
                sent[name] = _as_sent(record[name])
        if "_version" in about:
            version = _version(envelope.get("version", b"null"), misfits)
            values[about_row("_version")] = version
        if "_time_extracted" in about:
            moment = _time(envelope.get("time_extracted", b"null"), misfits)
            values[about_row("_time_extracted")] = moment
        values[about_row("_record")] = _readable(envelope["record"])
        if misfits:
            values[about_row("_corrupt_record")] = values[about_row("_record")]
        if sent:
            values[about_row("_misfits")] = list(sent.items())
        return values, misfits


def _as_sent(text: bytes) -> str:
    """A value's text; where it is no JSON, different bytes make different texts: keys are
    compared by them."""
    try:
        return normal(text).decode()
    except (ValueError, RecursionError):
        return text.decode("utf-8", "backslashreplace")


def _readable(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\r")
