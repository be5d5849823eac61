"""The other process of a trial of a folder. Stands alone: it runs as a script, without packages."""

from __future__ import annotations

import os
import sys

HELD = "held"
FREE = "free"


def lock(path: str) -> int | None:
    """A handle that holds the file's lock, or None where somebody else does.

    Raises `OSError` where the file system has no locks.
    """
    import fcntl  # there is none on Windows

    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:
        os.close(handle)
        raise
    return handle


def link(source: str, path: str) -> bool:
    """Give a file a second name; False where somebody else's has it."""
    try:
        os.link(source, path)
    except FileExistsError:
        return False
    return True


def main(locked: str, source: str, taken: str) -> None:
    """Say of a lock and of a name whether another process could have them too."""
    try:
        free = lock(locked) is not None
    except OSError:
        free = True
    linked = bool(source) and link(source, taken)
    sys.stdout.write(f"{FREE if free else HELD} {FREE if linked else HELD}")


if __name__ == "__main__":
    main(*sys.argv[1:])
