"""Which keys a store takes: those that stay below its root, in every backend alike."""

from __future__ import annotations

import re

from singerlake.errors import BadName

# A backslash is a separator on Windows; control characters do not survive S3's XML listings.
_FORBIDDEN = re.compile(r"[\x00-\x1f\x7f\\\ud800-\udfff]")


def check_key(key: str) -> str:
    """The key, unchanged. Raises `BadName` where it could lead outside the root."""
    if any(segment in ("", ".", "..") for segment in key.split("/")):
        raise BadName(f"{key!r} is no key: a segment is empty, '.' or '..'")
    if _FORBIDDEN.search(key):
        raise BadName(f"{key!r} is no key: it holds a backslash or a control character")
    return key


def check_prefix(prefix: str) -> str:
    """The folder's name with a `/` at its end, ready to put before a name; `""` for the root."""
    return f"{check_key(prefix)}/" if prefix else ""


def is_lock(key: str) -> bool:
    """Whether the object is a lock, which need not outlive a crash of the machine."""
    return key.endswith(".lock")


def is_hidden(key: str) -> bool:
    """Whether listings skip the key: a segment begins with a dot."""
    return key.startswith(".") or "/." in key
