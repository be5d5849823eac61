"""How every SQLite file of a buffer is opened, and what its errors mean."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path
from typing import Any

PAGE_BYTES = 8192
BUSY_SECONDS = 30.0
FORMAT = 1
"""Kept as `user_version`. A file of a higher number is of a newer Singerlake."""

APPLICATION = 0x534C4C42
"""Kept as `application_id`: any other SQLite file is foreign."""

_FULL = ("database or disk is full", "disk quota exceeded", "file too large")
_DAMAGE = ("malformed", "not a database", "no such table", "no such column")
_UNCLEAR = "disk i/o error"
ROOM_BYTES = 1_000_000


class Connection(sqlite3.Connection):
    """A damaged schema may have text that is no UTF-8, and SQLite's own error about it cannot be
    decoded then: that is damage like any other."""

    def execute(self, *arguments: Any) -> sqlite3.Cursor:
        try:
            return super().execute(*arguments)
        except UnicodeDecodeError:
            raise sqlite3.DatabaseError("malformed: its schema is no text") from None


def connect(path: Path, create: bool = False) -> sqlite3.Connection:
    """Autocommit: transactions are begun by hand. Any thread may use it, one at a time."""
    address = f"{path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
    connection = sqlite3.connect(
        address,
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=BUSY_SECONDS,
        factory=Connection,
    )
    try:
        if create:
            connection.execute(f"PRAGMA page_size={PAGE_BYTES}")
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=FULL")
        connection.execute("PRAGMA fullfsync=ON")  # macOS: else the disk's own cache is not flushed
        # Debian's SQLite overwrites what is deleted, which makes deletes many times slower.
        connection.execute("PRAGMA secure_delete=OFF")
        # A reader beside the writer: pages are read by the kernel, and cached there.
        connection.execute("PRAGMA cache_size=-1024")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_to_read(path: Path, sealed: bool = False) -> sqlite3.Connection:
    """Cannot change the database; SQLite itself may have to recover it.

    One that is `sealed`, which nobody writes any more, is read without files beside it: there may
    be no room for them.
    """
    if sealed and not path.with_name(f"{path.name}-wal").exists():
        address = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
        return sqlite3.connect(
            address, uri=True, isolation_level=None, check_same_thread=False, factory=Connection
        )
    connection = connect(path)
    connection.execute("PRAGMA query_only=ON")
    return connection


def stamp(connection: sqlite3.Connection) -> None:
    """Mark a new file as ours."""
    connection.execute(f"PRAGMA application_id={APPLICATION}")
    connection.execute(f"PRAGMA user_version={FORMAT}")


def stamp_of(connection: sqlite3.Connection) -> tuple[int, int]:
    """The application and the format that a file bears."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    return application, connection.execute("PRAGMA user_version").fetchone()[0]


def is_full(error: BaseException) -> bool:
    """Whether there was no room: nothing is wrong with the file."""
    return any(words in str(error).lower() for words in _FULL)


def is_damage(error: BaseException, path: Path) -> bool:
    """Whether the file itself is at fault, rather than the disk or another process."""
    text = str(error).lower()
    if not path.exists() or any(words in text for words in _DAMAGE):
        return True
    if _UNCLEAR in text:
        # A file that is cut off; or a full disk, where SQLite says the same of a good file.
        room = os.statvfs(path.parent)
        return room.f_bavail * room.f_frsize > ROOM_BYTES
    return type(error) is sqlite3.DatabaseError


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable: a new file without this may be gone after a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
