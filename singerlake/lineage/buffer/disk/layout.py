"""The names in a buffer's folder.

owner.lock                        who works on the buffer
state.db                          checkpoints, counters, losses, dead letters
last                              the newest number that was written
events-<first number>.db          a partition; events-<first number>.1.db what was rescued of it
prepared.db                       a partition that is not whole yet
damaged/                          what could not be read, set aside
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path

LOCK = "owner.lock"
STATE = "state.db"
LAST = "last"
PREPARED = "prepared.db"
"""A partition until it is whole: then it gets its name."""

DAMAGED = "damaged"
SIDE_FILES = ("-journal", "-wal", "-shm")
"""What SQLite keeps beside a database."""

_PARTITION = re.compile(r"events-(\d{20})(?:\.(\d+))?\.db")


def partition_path(folder: Path, first: int, copy: int = 0) -> Path:
    """`copy` numbers what was rescued from a damaged partition: the highest copy counts."""
    return folder / f"events-{first:020d}{f'.{copy}' if copy else ''}.db"


def partition_paths(folder: Path) -> dict[int, list[Path]]:
    """By the first number of each, in order; the copy that counts is the last."""
    found: dict[int, list[tuple[int, Path]]] = {}
    for path in folder.iterdir():
        if match := _PARTITION.fullmatch(path.name):
            found.setdefault(int(match[1]), []).append((int(match[2] or 0), path))
    return {first: [path for _, path in sorted(found[first])] for first in sorted(found)}


def is_partition(name: str) -> bool:
    return _PARTITION.fullmatch(name) is not None


def copy_of(path: Path) -> int:
    match = _PARTITION.fullmatch(path.name)
    return int(match[2] or 0) if match else 0


def files_of(database: Path) -> list[Path]:
    """The database and what is beside it, the database last: it is what makes the others count."""
    beside = [database.with_name(database.name + suffix) for suffix in SIDE_FILES]
    return [path for path in (*beside, database) if path.exists()]


def bytes_of(database: Path) -> int:
    """What the database takes up, with what is beside it but for the memory that is shared."""
    total = 0
    for path in (database, database.with_name(database.name + "-wal")):
        with suppress(FileNotFoundError):
            total += path.stat().st_size
    return total
