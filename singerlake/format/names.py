"""Names as path segments: any name of a tap, a stream or a pin becomes one segment, and back.

Names can hold anything. `escape` makes path segments of them: ASCII letters,
digits, `-`, `_` and `.` stand for themselves, every other byte of the name's UTF-8 is `!XX`.
A first `.` or `_` is escaped too (Spark and shells hide such names, and `..` leads upwards), so
is a last `.` (Windows drops it), and so is the first letter of a name that is one of our own.
"""

from __future__ import annotations

import re

from singerlake.errors import BadName

ROOT = "raw"

LONGEST_SEGMENT = 180
"""File systems end at 255 bytes, and a file's name adds up to 70 to its stream's."""

_OUR_OWN = frozenset({"singerlake.json", "catalogue.json", "manifest.json"})
_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")
_ESCAPED = re.compile(r"(?:[A-Za-z0-9._-]|![0-9A-F]{2})+")


def escape(name: str) -> str:
    """The one path segment that stands for a name. Raises `BadName`."""
    raw = name.encode("utf-8", "surrogatepass")
    if not raw:
        raise BadName("a name is empty: expected at least one character")
    parts = [chr(byte) if byte in _PLAIN else f"!{byte:02X}" for byte in raw]
    if raw[:1] in (b".", b"_") or name.lower() in _OUR_OWN:
        parts[0] = f"!{raw[0]:02X}"
    if raw[-1:] == b".":
        parts[-1] = "!2E"
    segment = "".join(parts)
    if len(segment) > LONGEST_SEGMENT:
        raise BadName(
            f"the name {name[:40]!r}… takes {len(segment)} characters in a path, "
            f"where at most {LONGEST_SEGMENT} fit: choose a shorter name "
            "(of a stream, by a stream map or stream alias)"
        )
    return segment


def unescape(segment: str) -> str:
    """The name that `escape` made this segment from. Raises `BadName` if it made none such."""
    if _ESCAPED.fullmatch(segment):
        raw = re.sub(r"!([0-9A-F]{2})", lambda m: chr(int(m[1], 16)), segment).encode("latin-1")
        try:
            name = raw.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            name = ""
        if name and escape(name) == segment:
            return name
    raise BadName(f"{segment!r} is no name that Singerlake wrote (docs/spec.md, Names)")


def tap_folder(tap_id: str) -> str:
    return f"{ROOT}/{escape(tap_id)}"
