"""A block of lines, all at once: the fast way, which takes a block whole or refuses it.

pyarrow's JSON parser does most of it. What that has no type for (maps, JSON text) is picked out of
the lines by msgspec. What the parser does not notice is looked at here: values outside the range
of their type, lines that hold two objects, bytes that are not UTF-8.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from decimal import Context, Decimal
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from singerlake.spark.convert import Converter
from singerlake.spark.types import MOST_DIGITS, Type
from singerlake.spark.wanted import TIME, Rows, Wanted, about_row

_IN_TEXT = frozenset({"null", "text", "json", "map"})


def in_text(kind: Type) -> bool:
    """True where pyarrow's JSON parser has no type for these values, or for a part of them."""
    if kind.kind in _IN_TEXT or (kind.items is not None and in_text(kind.items)):
        return True
    return any(in_text(inner) for _, inner in kind.fields)


class BlockParser:
    """Parses blocks of one read. `converters` are those of its columns."""

    def __init__(
        self, wanted: Wanted, schema: pa.Schema, converters: Mapping[str, Converter]
    ) -> None:
        self._schema, self._converters = schema, converters
        self._metadata = frozenset(wanted.metadata)
        self._texts = sorted(name for name, kind in wanted.columns if in_text(kind))
        self._typed = [name for name, _ in wanted.columns if name not in self._texts]
        self._options: dict[tuple[bool, bool], Any] = {}
        try:
            self._lines, self._records = _decoders(self._texts, "_record" in self._metadata)
        except ValueError:
            # A quote or a control character in a name, which a struct's field cannot have.
            self._lines = self._records = None

    def rows(self, block: bytes, position: int, timed: bool) -> Rows | None:
        """The block's rows; None where it has to go line by line."""
        count = block.count(b"\n") + (not block.endswith(b"\n"))
        try:
            if not block.isascii():
                block.decode()
            arrays = self._by_arrow(block, count, timed, b"ACTIVATE_VERSION" in block)
            if arrays is None:
                return None
            if (self._texts or "_record" in self._metadata) and not self._add_texts(
                arrays, block, count
            ):
                return None
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError, RecursionError):
            return None
        arrays[about_row("_position")] = pa.array(np.arange(position, position + count))
        kinds = arrays.pop(about_row("type"), None)
        rows = Rows(count, arrays, count)
        return rows if kinds is None else rows.filter(_is_record(kinds))

    def _by_arrow(
        self, block: bytes, count: int, timed: bool, mixed: bool
    ) -> dict[str, pa.Array] | None:
        """The typed columns; `mixed` blocks may hold other messages than records."""
        options = self._options.get((timed, mixed))
        if options is None:
            options = self._options[timed, mixed] = self._parse_options(timed, mixed)
        read = arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1)
        table = arrow_json.read_json(pa.BufferReader(block), read, options)
        if table.num_rows != count:
            return None  # a blank line, or two objects on a line
        record = table.column("record").combine_chunks()
        arrays = {}
        if mixed:
            kinds = arrays[about_row("type")] = table.column("type").combine_chunks()
            if pc.any(pc.and_(pc.is_null(record), _is_record(kinds))).as_py():
                return None
        elif record.null_count:
            return None
        if timed:
            moments = table.column("time_extracted").combine_chunks()
            arrays[about_row("_time_extracted")] = moments
        if "_version" in self._metadata:
            arrays[about_row("_version")] = table.column("version").combine_chunks()
        if any(map(_has_outliers, [*arrays.values(), *record.flatten()])):
            return None
        for number, name in enumerate(self._typed):
            array, target = record.field(number), self._schema.field(name).type
            arrays[name] = array if array.type == target else array.cast(target)
            if array.type != target and _has_outliers(arrays[name]):
                return None
        return arrays

    def _parse_options(self, timed: bool, mixed: bool) -> Any:
        fields = [(name, _for_parser(self._schema.field(name).type)) for name in self._typed]
        wanted = [("record", pa.struct(fields))]
        if mixed:
            wanted.append(("type", pa.string()))
        if timed:
            wanted.append(("time_extracted", TIME))
        if "_version" in self._metadata:
            wanted.append(("version", pa.int64()))
        return arrow_json.ParseOptions(
            explicit_schema=pa.schema(wanted), unexpected_field_behavior="ignore"
        )

    def _add_texts(self, arrays: dict[str, pa.Array], block: bytes, count: int) -> bool:
        """Add the columns that are picked out of the lines; False where one does not fit."""
        if self._lines is None:
            return False
        lines = self._lines.decode_lines(block)
        if len(lines) != count:
            return False
        records = [line.record for line in lines]
        if "_record" in self._metadata:
            texts = [bytes(raw).decode() or None for raw in records]
            arrays[about_row("_record")] = pa.array(texts, pa.string())
            records = [self._records.decode(raw) if raw else None for raw in map(bytes, records)]
        misfits: list[str] = []
        for number, name in enumerate(self._texts):
            convert, field = self._converters[name], attrgetter(f"f{number}")
            raws = (b"" if record is None else bytes(field(record)) for record in records)
            values = [convert(raw, misfits) if raw else None for raw in raws]
            if misfits:
                return False
            arrays[name] = pa.array(values, self._schema.field(name).type)
        return True


def _is_record(kinds: pa.Array) -> pa.Array:
    """Whatever is not an ACTIVATE_VERSION message, so that nothing is passed over unseen."""
    return pc.fill_null(pc.not_equal(kinds, "ACTIVATE_VERSION"), True)


def _decoders(names: Sequence[str], whole_record: bool) -> tuple[Any, Any]:
    """Decodes lines, and records, into structs that hold these properties as their texts.

    With `whole_record`, a line's record is its text. Structs hold no references that could form
    cycles, so the garbage collector need not know them.
    """
    renamed = {f"f{number}": name for number, name in enumerate(names)}
    fields = [(field, msgspec.Raw, msgspec.Raw()) for field in renamed]
    record = msgspec.defstruct("Record", fields, rename=renamed, gc=False)
    kind: Any = msgspec.Raw if whole_record else record
    default = msgspec.Raw() if whole_record else msgspec.field(default_factory=record)
    line = msgspec.defstruct("Line", [("record", kind, default)], gc=False)
    return msgspec.json.Decoder(line), msgspec.json.Decoder(record)


def _for_parser(kind: pa.DataType) -> pa.DataType:
    """The type to parse into: dates as strings, since the parser takes them for numbers; decimals
    with room for what is too large, which otherwise comes out as another number."""
    if pa.types.is_date(kind):
        return pa.string()
    if pa.types.is_decimal(kind):
        return pa.decimal256(MOST_DIGITS, kind.scale)
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_for_parser(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(kind.value_field.with_type(_for_parser(kind.value_type)))
    return kind


def _has_outliers(array: pa.Array) -> bool:
    """Whether a value is outside its type's range, which the parser does not mind: a time or date
    outside the years 1 to 9999, a decimal of more digits than it has, a double past the largest."""
    kind = array.type
    if pa.types.is_struct(kind):
        return any(_has_outliers(array.field(i)) for i in range(kind.num_fields))
    if pa.types.is_list(kind):
        return _has_outliers(array.values)
    limits = _limits(kind)
    if limits is None:
        return False
    ends = pc.min_max(array if kind not in _COUNTED else array.cast(_COUNTED[kind]))
    lowest, highest = ends["min"].as_py(), ends["max"].as_py()
    return lowest is not None and not limits[0] <= lowest <= highest <= limits[1]


_COUNTED = {TIME: pa.int64(), pa.date32(): pa.int32()}
"""Types that Python cannot hold outliers of; they are compared as what they count."""


@cache
def _limits(kind: pa.DataType) -> tuple[Any, Any] | None:
    """The least and the greatest value; None where the parser minds what is beyond them."""
    if pa.types.is_decimal(kind):
        greatest = Decimal(10**kind.precision - 1).scaleb(-kind.scale, Context(prec=MOST_DIGITS))
        return greatest.copy_negate(), greatest
    if pa.types.is_floating(kind):
        return -sys.float_info.max, sys.float_info.max
    if kind not in _COUNTED:
        return None
    ends = (datetime(1, 1, 1, tzinfo=timezone.utc), datetime.max.replace(tzinfo=timezone.utc))
    low, high = (pa.scalar(end, TIME).cast(kind).cast(_COUNTED[kind]).as_py() for end in ends)
    return low, high
