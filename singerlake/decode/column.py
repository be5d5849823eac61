"""A column of a block: how msgspec decodes its values, and the Arrow array that they make.

Nothing is bent to fit. A value of another kind raises `ValueError` or `OverflowError`, and the
block that holds it goes line by line.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from operator import attrgetter
from typing import Any, cast

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from singerlake.decode.json_text import MISFIT
from singerlake.decode.value import (
    Misplaced,
    converter,
    day_of,
    decimal_reader,
    microseconds_of,
)
from singerlake.format.record_type import Type


@dataclass(frozen=True)
class Column:
    """What msgspec decodes a value to, and what makes an array of many; None is no value."""

    annotation: Any
    array: Callable[[Sequence[Any]], pa.Array]


def column(kind: Type, arrow: pa.DataType) -> Column:
    """The column of a type; `arrow` is the same type as Spark wants it."""
    if kind.kind in _PLAIN:
        return Column(_PLAIN[kind.kind] | None, lambda values: pa.array(values, arrow))
    if kind.kind in _FROM_STRINGS:
        return Column(str | None, lambda values: _parsed(values, arrow))
    if kind.kind == "decimal":
        return Column(msgspec.Raw, lambda values: _decimals(values, arrow))
    if kind.kind == "array" and kind.items is not None:
        return _list_column(column(kind.items, arrow.value_type), arrow)
    if kind.kind == "struct" and kind.fields:
        try:
            return _struct_column(Members.of(kind.fields, list(arrow)), arrow)
        except ValueError:
            return _converted(kind, arrow)  # a name that msgspec does not take
    return _converted(kind, arrow)


@dataclass(frozen=True)
class Members:
    """The wanted members of an object: the msgspec struct that holds them, a column for each."""

    struct: type[msgspec.Struct]
    columns: tuple[tuple[str, Column], ...]

    @classmethod
    def of(cls, fields: Iterable[tuple[str, Type]], arrow: Sequence[pa.Field]) -> Members:
        """Raises `ValueError` for a name with a quote, a backslash or a control character."""
        columns = {
            f"f{number}": (name, column(kind, field.type))
            for number, ((name, kind), field) in enumerate(zip(fields, arrow, strict=True))
        }
        struct = msgspec.defstruct(
            "Members",
            [(attribute, made.annotation, None) for attribute, (_, made) in columns.items()],
            rename={attribute: name for attribute, (name, _) in columns.items()},
            gc=False,  # no cycles: the garbage collector need not know them
        )
        return cls(struct, tuple((attribute, made) for attribute, (_, made) in columns.items()))

    def arrays(self, objects: Sequence[Any]) -> list[pa.Array]:
        """An array for each member, of all objects."""
        return [
            made.array(list(map(attrgetter(attribute), objects)))
            for attribute, made in self.columns
        ]


_PLAIN: dict[str, Any] = {"boolean": bool, "long": int, "double": float, "string": str}
_FROM_STRINGS = frozenset({"timestamp", "date"})
_EPOCH = datetime(1970, 1, 1)
_ENDS = (datetime.min + timedelta(days=1), datetime.max - timedelta(days=1))
"""Arrow knows more years than 1 to 9999, and a zone may move a time by a day."""
_DAYS = tuple((end - _EPOCH).days for end in _ENDS)
_MICROSECONDS = tuple((end - _EPOCH) // timedelta(microseconds=1) for end in _ENDS)


def _parsed(values: Sequence[str | None], arrow: pa.DataType) -> pa.Array:
    """Times and dates, if all are in the years 1 to 9999.

    Arrow takes the usual forms only, and a column of times with a zone, or one without, but no
    mixture. The others are taken value by value, as the tolerant parser takes them.
    """
    texts = pa.array(values, pa.string())
    is_date = pa.types.is_date(arrow)
    for form in (arrow,) if is_date else (arrow, pa.timestamp(arrow.unit)):
        try:
            array = texts.cast(form).cast(arrow)  # without a zone, it is UTC
        except pa.ArrowInvalid:
            continue
        if _is_in_known_years(array):
            return array
    read = day_of if is_date else microseconds_of
    return pa.array([None if text is None else read(text) for text in values], arrow)


def _is_in_known_years(array: pa.Array) -> bool:
    is_date = pa.types.is_date(array.type)
    least, greatest = _DAYS if is_date else _MICROSECONDS
    found = pc.min_max(array.cast(pa.int32() if is_date else pa.int64()))
    lowest, highest = found["min"].as_py(), found["max"].as_py()
    return lowest is None or bool(least <= lowest <= highest <= greatest)


_SAFE_DECIMAL = re.compile(rb"[+-]?\d{1,38}(\.\d{0,38})?([eE][+-]?([0-2]?\d|3[0-8]))?")
"""What Arrow turns into a decimal of 256 bits rightly: past these it wraps around, or worse."""


def _decimals(values: Sequence[msgspec.Raw | None], arrow: pa.DataType) -> pa.Array:
    """Numbers by their text, so that no digit is lost; strings may hold one too."""
    texts = [None if raw is None or (text := bytes(raw)) == b"null" else text for raw in values]
    bare = [text[1:-1] if text is not None and text[:1] == b'"' else text for text in texts]
    if all(_SAFE_DECIMAL.fullmatch(text) for text in bare if text is not None):
        # By way of one with room for what is too large, which otherwise is another number then.
        with suppress(pa.ArrowInvalid):
            return pa.array(bare, pa.string()).cast(pa.decimal256(76, arrow.scale)).cast(arrow)
    read = decimal_reader(arrow.precision, arrow.scale)
    return pa.array([None if text is None else read(text) for text in texts], arrow)


def _converted(kind: Type, arrow: pa.DataType) -> Column:
    """Value by value, from its text: for what Arrow has no type for, maps and JSON text."""
    convert = converter(kind, "")

    def array(values: Sequence[msgspec.Raw | None]) -> pa.Array:
        misfits: list[Misplaced] = []
        found = [None if raw is None else convert(bytes(raw), misfits) for raw in values]
        if misfits:
            raise ValueError(MISFIT)
        return pa.array(found, arrow)

    return Column(msgspec.Raw, array)


def _list_column(items: Column, arrow: pa.DataType) -> Column:
    def array(values: Sequence[list[Any] | None]) -> pa.Array:
        absent = _absent(values)
        lists = cast(Sequence[list[Any]], values if absent is None else [v or () for v in values])
        ends = np.zeros(len(lists) + 1, np.int32)
        np.cumsum(list(map(len, lists)), out=ends[1:])
        inner = items.array(list(chain.from_iterable(lists)))
        return pa.ListArray.from_arrays(pa.array(ends), inner, type=arrow, mask=absent)

    return Column(list[items.annotation] | None, array)  # type: ignore[name-defined]


def _struct_column(members: Members, arrow: pa.DataType) -> Column:
    nothing = members.struct()

    def array(values: Sequence[msgspec.Struct | None]) -> pa.Array:
        absent = _absent(values)
        if absent is not None:
            values = [nothing if value is None else value for value in values]
        arrays = members.arrays(values)
        return pa.StructArray.from_arrays(arrays, fields=list(arrow), mask=absent)

    return Column(members.struct | None, array)


def _absent(values: Sequence[Any]) -> pa.Array | None:
    return pa.array([value is None for value in values]) if None in values else None
