"""How large and how deep a JSON text is, before anything costly or recursive touches it."""

from __future__ import annotations

from typing import Any

MOST = 100
"""The validator is written in a language whose stack does not grow."""

MOST_VALUES = 500_000
"""A value takes a hundred bytes of memory, and may be two bytes of a text."""

_OTHERS = bytes(set(range(256)) - set(b'[]{}"'))


def values_at_most(text: bytes) -> int:
    """There are no more values than this in a text: what is in its strings counts, too."""
    return 1 + text.count(b",") + text.count(b"{") + text.count(b"[")


def is_too_deep(text: bytes) -> bool | None:
    """None: look at what was parsed, for it is deep, or has brackets in strings. Those must not be
    counted: with them any depth can be made to look flat.

    Every round takes away one or two levels from inside, at the speed of memory.
    """
    if text.count(b"{") + text.count(b"[") <= MOST:
        return False
    unescaped = text.replace(b"\\\\", b"").replace(b'\\"', b"")
    brackets = unescaped.translate(None, _OTHERS).replace(b'""', b"")
    if b'"' in brackets:
        return None
    for _ in range(MOST // 2):
        if not brackets:
            return False
        shorter = brackets.replace(b"{}", b"").replace(b"[]", b"")
        if len(shorter) == len(brackets):
            return None
        brackets = shorter
    return None


def is_value_too_deep(value: dict[str, Any]) -> bool:
    """The same of a parsed value, level by level."""
    level: list[Any] = [value]
    for _ in range(MOST):
        level = [
            child
            for one in level
            for child in (one.values() if isinstance(one, dict) else one)
            if isinstance(child, dict | list)
        ]
        if not level:
            return False
    return True
