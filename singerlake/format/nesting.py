"""How deep JSON may nest where it is handled by code that calls itself, ours and others'.

Python's json reads some hundred levels more than such code can walk through.
"""

from __future__ import annotations

from itertools import accumulate

DEEPEST = 256
"""Levels of a schema or a document."""

DEEPEST_LINE = 512
"""Levels of a line, its own braces included: the same for every Python that reads the lake. Up to
3.11 a parser's levels and its callers' frames share one limit of a thousand."""

_ARRAY, _OBJECT = len("[]"), len('{"":}')  # a level's fewest bytes, but for an object with nothing
_SPARSE = 256  # bytes between two arrays, from where to find each is quicker than to count all
_PORTION = 64 * 1024
_STEPS = {ord("{"): 1, ord("["): 1, ord("}"): -1, ord("]"): -1}
_OTHERS = bytes(set(range(256)) - _STEPS.keys())


def is_too_deep(value: object) -> bool:
    """Whether a value, as JSON gives it, has more levels than `DEEPEST`."""
    level = [value]
    for _ in range(DEEPEST + 1):
        level = [
            inner
            for outer in level
            if isinstance(outer, (dict, list))
            for inner in (outer.values() if isinstance(outer, dict) else outer)
        ]
        if not level:
            return False
    return True


def has_room_for_depth(lines: bytes, longest: int) -> bool:
    """Whether one of these lines of JSON, the longest of so many bytes, can be a deep one.

    Mostly none is long enough: a level takes some bytes, and more where it is no array. And in
    most lines arrays are few, so that to look for them is far quicker than to count braces.
    """
    if longest < (DEEPEST_LINE + 1) * _ARRAY:
        return False
    missing = DEEPEST_LINE * _OBJECT + _ARRAY - longest
    arrays = -(-missing // (_OBJECT - _ARRAY))
    return arrays < 2 or _arrays_are_close(lines, arrays, longest)


def _arrays_are_close(lines: bytes, count: int, within: int) -> bool:
    """Whether so many begin within so many bytes; yes also where there are very many."""
    found: list[int] = []
    most = count + len(lines) // _SPARSE
    at = lines.find(b"[")
    while at >= 0 and len(found) < most:
        found.append(at)
        at = lines.find(b"[", at + 1)
    if at >= 0:
        return True
    return any(
        last - first < within for first, last in zip(found, found[count - 1 :], strict=False)
    )


def is_deep_line(line: bytes) -> bool:
    """Whether a line of JSON has more levels than `DEEPEST_LINE`; of other lines it says nothing.

    Measured without a parser, and only where there are brackets enough.
    """
    long_enough = len(line) >= (DEEPEST_LINE + 1) * _ARRAY
    if not long_enough or line.count(b"{") + line.count(b"[") <= DEEPEST_LINE:
        return False
    # Without the escapes every quote begins or ends a string.
    plain = line.replace(b"\\\\", b"").replace(b'\\"', b"")
    level = quotes = 0
    for begin in range(0, len(plain), _PORTION):
        pieces = plain[begin : begin + _PORTION].split(b'"')
        brackets = b"".join(pieces[quotes % 2 :: 2]).translate(None, _OTHERS)
        levels = list(accumulate(map(_STEPS.__getitem__, brackets), initial=level))
        if max(levels) > DEEPEST_LINE:
            return True
        level = levels[-1]
        quotes += len(pieces) - 1
    return False
