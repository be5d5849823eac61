"""Where the pages are: one file for the lake, one for each tap and each stream.

    index.html
    problems.html
    find/index.html                 where an index gave its rows
    tap/<tap>.html, tap/<tap>~p2.html …
    stream/<tap>/<stream>.html

Names become file names by the lake's own escape, so no name leads outside the folder. What the
escape never writes is `~`: a name that it refuses, or that differs from another in case only (some
disks take the two for one), is told apart by a hash behind a `~`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from singerlake.errors import BadName
from singerlake.format import keys

HOME = "index.html"
PROBLEMS = "problems.html"
FIND = "find/index.html"
SEARCH_INDEX = "search-index.js"


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for each name, without its ending: safe in every path and URL, and its own."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in sorted(names):
        plain = _escaped(name)
        own = f"{plain}~{_hash(name)}" if not plain or plain.lower() in taken else plain
        taken.add(own.lower())
        found[name] = own
    return found


def _escaped(name: str) -> str:
    try:
        return keys.escape(name)
    except BadName:
        return ""


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def of_tap(tap: str, number: int = 1) -> str:
    """The page of a tap, given by its file name; a tap of many streams has several."""
    return f"tap/{tap}.html" if number == 1 else f"tap/{tap}~p{number}.html"


def of_stream(tap: str, stream: str) -> str:
    """The page of a stream; both names are file names."""
    return f"stream/{tap}/{stream}.html"


def to_root(page: str) -> str:
    """What a link on this page begins with, to lead to another: `../../`."""
    return "../" * page.count("/")
