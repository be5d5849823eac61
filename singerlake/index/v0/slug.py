"""Slugs: names as the v0 API has them, `[a-z0-9_-]+`, and back.

What no slug can hold becomes `_x` and two digits for each byte of its UTF-8: `Orders` is
`_x4frders`, `a/b` is `a_x2fb`. A `_` ahead of an `x` becomes `_x5f`, so that each name has a slug
of its own. So does the text `null`, which stands for no run.
"""

from __future__ import annotations

import re

_PLAIN = re.compile(r"[a-z0-9-]|_(?!x)")
_IS_SLUG = re.compile(r"(?:[a-z0-9-]|_(?!x))*")
_ESCAPED = re.compile(r"(?:_x[0-9a-f]{2})+")
_NULL, _NO_NULL = "null", "_x6eull"


def to_slug(name: str) -> str:
    """The slug of a name."""
    if name == _NULL:
        return _NO_NULL
    if _IS_SLUG.fullmatch(name):
        return name
    parts, at = [], 0
    while at < len(name):
        if _PLAIN.match(name, at):
            parts.append(name[at])
        else:
            parts += [f"_x{byte:02x}" for byte in name[at].encode("utf-8", "surrogatepass")]
        at += 1
    return "".join(parts)


def from_slug(slug: str) -> str:
    """The name of a slug. A text that is the slug of nothing is the name itself: people may ask
    for `Orders` too, and uploads may have any slug."""
    try:
        name = _ESCAPED.sub(_decoded, slug)
    except UnicodeDecodeError:
        return slug
    return name if to_slug(name) == slug else slug


def _decoded(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("_x", "")).decode("utf-8", "surrogatepass")
