"""The keys of files of any kind, below a stream's folder.

_files/<aa>/<sha256>          the bytes, under their hash; `aa` are its first two digits
_files/_removals/<id>.json    what a purge is about to remove
"""

from __future__ import annotations

import re

FOLDER = "_files"
REMOVALS = "_removals"

_HASH = re.compile(r"[0-9a-f]{64}")
_ID = re.compile(r"[0-9a-f]{32}\.json")


def path_of(sha256: str) -> str:
    """Where bytes with this hash lie, below the stream's folder."""
    return f"{FOLDER}/{sha256[:2]}/{sha256}"


def removal_path(unique: str) -> str:
    """What tells that a purge is removing bytes; `unique` is 32 hexadecimal digits."""
    return f"{FOLDER}/{REMOVALS}/{unique}.json"


def removals_folder() -> str:
    return f"{FOLDER}/{REMOVALS}"


def kind_of(path: str) -> str:
    """`blob`, `removal`, or "" for a path that is neither."""
    folder, _, rest = path.partition("/")
    middle, _, leaf = rest.partition("/")
    if folder != FOLDER:
        return ""
    if middle == REMOVALS:
        return "removal" if _ID.fullmatch(leaf) else ""
    return "blob" if _HASH.fullmatch(leaf) and leaf[:2] == middle else ""


def sha256_of(path: str) -> str:
    """The hash that a blob's path has in it."""
    return path.rpartition("/")[2]
