"""JSON as text: objects and arrays taken apart without changing what is inside them.

msgspec does it where it can. What only Python's json reads (NaN, Infinity, halves of surrogate
pairs) is read by that and written again, with every number as it stood.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

MISFIT = "does not fit"

_objects = msgspec.json.Decoder(dict[str, msgspec.Raw])
_lists = msgspec.json.Decoder(list[msgspec.Raw])


def members(text: bytes) -> dict[str, bytes]:
    """An object's members, each as its text. Raises `ValueError`."""
    try:
        return {name: bytes(raw) for name, raw in _objects.decode(text).items()}
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return {name: _dump(value) for name, value in _load(text, dict, error).items()}


def elements(text: bytes) -> Iterator[bytes]:
    """An array's elements, each as its text. Raises `ValueError`."""
    try:
        return map(bytes, _lists.decode(text))
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return map(_dump, _load(text, list, error))


def normal(text: bytes) -> bytes:
    """A value without white space and needless escapes, its numbers as they stand."""
    return _dump(_loads(text))


class _Number(str):
    """A number by its text: exact, whatever its size."""

    __slots__ = ()


def _load(text: bytes, kind: type[Any], error: Exception) -> Any:
    """As Python's json reads it: with NaN, Infinity and halves of surrogate pairs."""
    if isinstance(error, msgspec.ValidationError):
        raise error
    value = _loads(text)
    if not isinstance(value, kind) or isinstance(value, _Number):
        raise ValueError(MISFIT)
    return value


def _loads(text: bytes) -> Any:
    return json.loads(text, parse_int=_Number, parse_float=_Number, parse_constant=_Number)


def _dump(value: Any) -> bytes:
    return "".join(_pieces(value)).encode()


def _pieces(value: Any) -> Iterator[str]:
    if isinstance(value, _Number):
        yield str(value)
    elif isinstance(value, dict):
        before = "{"
        for name, inner in value.items():
            yield f"{before}{_quoted(name)}:"
            yield from _pieces(inner)
            before = ","
        yield "}" if value else "{}"
    elif isinstance(value, list):
        before = "["
        for inner in value:
            yield before
            yield from _pieces(inner)
            before = ","
        yield "]" if value else "[]"
    elif isinstance(value, str):
        yield _quoted(value)
    else:
        yield json.dumps(value)


def _quoted(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(text)
    return json.dumps(text, ensure_ascii=False)
