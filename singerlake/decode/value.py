"""One value: from its JSON text, as it stands in the record, to what an Arrow column takes.

A converter takes the text and a list, and returns the value. Where the value does not fit the
type, it returns None and adds to the list where that was: the smallest part that does not fit
becomes null, the rest of the column stays.

Everything works on text, so that a part that stays text is kept as it was sent.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, datetime, timedelta, timezone
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Any, NamedTuple

import msgspec

from singerlake.decode.json_text import MISFIT, elements, members
from singerlake.format.record_type import Type
from singerlake.format.times import TAP_TIME, parse_time

Converter = Callable[[bytes, "list[Misplaced]"], Any]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MICROSECOND = timedelta(microseconds=1)
_LONG = (-(2**63), 2**63)
_EXACT = Context(prec=200)
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")
_NUMBER_TEXT = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,9})?", re.ASCII)
_NOT_FINITE = {b"NaN": float("nan"), b"Infinity": float("inf"), b"-Infinity": float("-inf")}

_strings = msgspec.json.Decoder(str)


class Misplaced(NamedTuple):
    """The smallest part of a value that does not fit: where it is, and its text."""

    path: str
    text: str


def converter(kind: Type, path: str) -> Converter:
    """The converter for values of a type; `path` names the place in messages."""
    make = _MAKERS.get(kind.kind)
    read = _READERS[kind.kind] if make is None else make(kind, path)

    def convert(text: bytes, misfits: list[Misplaced]) -> Any:
        if text == b"null":
            return None
        try:
            return read(text, misfits)
        except (ValueError, OverflowError, RecursionError, ArithmeticError):
            # msgspec's errors are ValueErrors too.
            misfits.append(Misplaced(path, text.decode("utf-8", "backslashreplace")))
            return None

    return convert


def _boolean(text: bytes, misfits: list[Misplaced]) -> bool:
    if text == b"true":
        return True
    if text == b"false":
        return False
    raise ValueError(MISFIT)


def _long(text: bytes, misfits: list[Misplaced]) -> int:
    number = int(text) if len(text) < 20 and text.lstrip(b"-").isdigit() else _whole(text)
    if not _LONG[0] <= number < _LONG[1]:
        raise ValueError(MISFIT)
    return number


def _whole(text: bytes) -> int:
    """`5.0` and `5e3` are integers too. The size is looked at first: 1e999999999 is a long one."""
    number = _exact_number(text)
    if number and number.adjusted() > 40:
        raise ValueError(MISFIT)
    whole = int(number)
    if whole != number:
        raise ValueError(MISFIT)
    return whole


def _exact_number(text: bytes) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise ValueError(MISFIT)
    return Decimal(text.decode())


def _double(text: bytes, misfits: list[Misplaced]) -> float:
    """Strings that hold a number too: a version that declares a decimal may send those."""
    if text in _NOT_FINITE:
        return _NOT_FINITE[text]
    digits = _number_in(text) if text[:1] == b'"' else text.decode()
    if text[:1] != b'"' and not _NUMBER.fullmatch(text):
        raise ValueError(MISFIT)
    # An integer has one zero only, and the parser of blocks says so too.
    number = 0.0 if digits == "-0" else float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(MISFIT)
    return number


def _number_in(text: bytes) -> str:
    """The digits that a string holds."""
    digits = _strings.decode(text)
    if not _NUMBER_TEXT.fullmatch(digits):
        raise ValueError(MISFIT)
    return digits


def decimal_reader(precision: int, scale: int) -> Callable[[bytes], Decimal]:
    """Reads numbers, and strings that hold a number, if no digit is lost.

    Digits that a double made up are none: a number that is the same double as its nearest value at
    the scale is that value. A string is exact. Raises `ValueError` and `ArithmeticError`.
    """
    step, limit = Decimal(1).scaleb(-scale), Decimal(1).scaleb(precision - scale)

    def read(text: bytes) -> Decimal:
        is_string = text[:1] == b'"'
        number = Decimal(_number_in(text)) if is_string else _exact_number(text)
        rounded = number.quantize(step, ROUND_HALF_EVEN, _EXACT)
        if not rounded.copy_abs() < limit:
            raise ValueError(MISFIT)
        if rounded != number and (is_string or float(number) != float(rounded)):
            raise ValueError(MISFIT)
        return rounded

    return read


def _make_decimal(kind: Type, path: str) -> Converter:
    read = decimal_reader(kind.precision, kind.scale)
    return lambda text, misfits: read(text)


def _string(text: bytes, misfits: list[Misplaced]) -> str:
    return _strings.decode(text)


def _text(text: bytes, misfits: list[Misplaced]) -> str:
    return _strings.decode(text) if text[:1] == b'"' else text.decode()


def _json(text: bytes, misfits: list[Misplaced]) -> str:
    return text.decode()


def microseconds_of(words: str) -> int:
    """Of a time, since 1970. Raises `ValueError` and `OverflowError`."""
    return (parse_time(words) - _EPOCH) // _MICROSECOND


def day_of(words: str) -> date:
    """A date; a moment at midnight as it was sent is one too, since nothing is lost.

    Raises `ValueError` and `OverflowError`.
    """
    found = TAP_TIME.fullmatch(words)
    if found is None:
        raise ValueError(MISFIT)
    if found["hour"] is None:
        return date.fromisoformat(words)
    parse_time(words)  # raises where it is no moment
    # By the digits: a fraction that is rounded to midnight would be lost.
    if any((found[part] or "").strip("0") for part in ("hour", "minute", "second", "fraction")):
        raise ValueError(MISFIT)
    return date.fromisoformat(found["day"])


def _timestamp(text: bytes, misfits: list[Misplaced]) -> int:
    return microseconds_of(_strings.decode(text))


def _date(text: bytes, misfits: list[Misplaced]) -> date:
    return day_of(_strings.decode(text))


def _make_array(kind: Type, path: str) -> Converter:
    assert kind.items is not None
    convert = converter(kind.items, path + "[]")

    def read(text: bytes, misfits: list[Misplaced]) -> list[Any]:
        return [convert(item, misfits) for item in elements(text)]

    return read


def _make_map(kind: Type, path: str) -> Converter:
    assert kind.items is not None
    convert = converter(kind.items, path + "{}")

    def read(text: bytes, misfits: list[Misplaced]) -> list[tuple[str, Any]]:
        return [(_clean(name), convert(value, misfits)) for name, value in members(text).items()]

    return read


def _clean(name: str) -> str:
    name.encode()  # raises where the name holds half of a surrogate pair
    return name


def _make_struct(kind: Type, path: str) -> Converter:
    fields = [(name, converter(inner, f"{path}.{name}")) for name, inner in kind.fields]

    def read(text: bytes, misfits: list[Misplaced]) -> dict[str, Any]:
        values = members(text)
        return {
            name: None if (value := values.get(name)) is None else convert(value, misfits)
            for name, convert in fields
        }

    return read


_READERS: dict[str, Converter] = {
    "null": _json,
    "boolean": _boolean,
    "long": _long,
    "double": _double,
    "string": _string,
    "text": _text,
    "json": _json,
    "timestamp": _timestamp,
    "date": _date,
}
_MAKERS: dict[str, Callable[[Type, str], Converter]] = {
    "decimal": _make_decimal,
    "array": _make_array,
    "map": _make_map,
    "struct": _make_struct,
}
