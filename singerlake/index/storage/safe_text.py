"""Texts that every database holds: names may have what theirs cannot, such as NUL."""

from __future__ import annotations

import re

_UNSAFE = re.compile("[\\\\\x00\ud800-\udfff]")
_ESCAPED = re.compile(r"\\u([0-9a-f]{4})")


def to_safe(text: str) -> str:
    """Without NUL and lone surrogates; different texts stay different."""
    if _UNSAFE.search(text) is None:
        return text
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def from_safe(text: str) -> str:
    """The text that `to_safe` was given."""
    if "\\" not in text:
        return text
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)
