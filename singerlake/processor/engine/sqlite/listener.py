"""Waiting for changes of a SQLite file, whichever process makes them."""

from __future__ import annotations

import sqlite3

from singerlake.processor.engine.base import Listener
from singerlake.processor.engine.sqlite.database import Database
from singerlake.runtime import Runtime

LOOK_SECONDS = 0.02
"""How often the file is asked whether it changed, which reads a few bytes of shared memory."""


class SqliteListener(Listener):
    def __init__(self, database: Database, runtime: Runtime) -> None:
        self._runtime = runtime
        self._database, self._interrupted = database, False
        self._connection: sqlite3.Connection | None = None
        self._seen = self._version()
        self._changes = database.changes

    def wait(self, seconds: float) -> None:
        end = self._runtime.monotonic() + seconds
        changed = self._database.changed
        while not self._interrupted:
            left = end - self._runtime.monotonic()
            if left <= 0:
                return
            with changed:
                if self._changes == self._database.changes:
                    changed.wait(left if self._database.is_memory else min(left, LOOK_SECONDS))
                moved, self._changes = (
                    self._changes != self._database.changes,
                    self._database.changes,
                )
            version = self._version()
            if moved or version != self._seen:
                self._seen = version
                return

    def _version(self) -> int:
        if self._database.is_memory:
            return 0
        if self._connection is None:
            self._connection = self._database.connect()
        return int(self._connection.execute("PRAGMA data_version").fetchone()[0])

    def interrupt(self) -> None:
        self._interrupted = True
        with self._database.changed:
            self._database.changed.notify_all()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
