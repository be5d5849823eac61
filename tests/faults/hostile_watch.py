"""What this process touches on the disk, and whom it calls, as Python's audit events tell."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_EVENTS = {
    "open": 1,
    "os.link": 2,
    "os.listdir": 1,
    "os.mkdir": 1,
    "os.remove": 1,
    "os.rename": 2,
    "os.rmdir": 1,
    "os.scandir": 1,
    "os.symlink": 2,
    "os.truncate": 1,
}
"""The events that tell of paths, and how many of their first arguments are such."""

_CALLS = {"socket.connect": 1, "socket.getaddrinfo": 0}
"""The events that tell of connections, and which of their arguments says to whom."""

_watched: list[tuple[str, set[str]]] = []


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if not _watched:
        return
    if event in _CALLS:
        for _, seen in _watched:
            seen.add(f"{event} {arguments[_CALLS[event]]!r}")
    if event not in _EVENTS:
        return
    for path in arguments[: _EVENTS[event]]:
        if isinstance(path, (str, bytes, os.PathLike)):
            _note(event, os.fsdecode(path))


def _note(event: str, path: str) -> None:
    for folder, seen in _watched:
        full = os.path.realpath(path)
        if full == folder or full.startswith(folder + os.sep):
            seen.add(f"{event} {full}")


_installed: list[bool] = []


@contextmanager
def watching(folder: Path) -> Iterator[set[str]]:
    """Everything that happens below the folder while the block runs; links are followed.

    And every connection, to whomever: a lake in a folder needs none.
    """
    if not _installed:
        sys.addaudithook(_hook)  # there is no way to take it away again
        _installed.append(True)
    entry = (os.path.realpath(folder), set[str]())
    _watched.append(entry)
    try:
        yield entry[1]
    finally:
        _watched.remove(entry)
