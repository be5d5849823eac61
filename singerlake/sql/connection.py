"""A DuckDB connection: in memory, in UTC, with a folder for what does not fit into memory."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path

import duckdb

from singerlake.sql.name import text


def open_connection() -> duckdb.DuckDBPyConnection:
    """An empty database in memory, and beside it `published`, another one."""
    connection = duckdb.connect()
    # DuckDB would spill into the current folder. It makes this one when needed, and removes it.
    spill = Path(tempfile.gettempdir()) / f"singerlake-sql-{uuid.uuid4().hex}"
    connection.execute(f"set temp_directory = {text(str(spill))}")
    connection.execute("set TimeZone = 'UTC'")
    connection.execute("attach ':memory:' as published")
    return connection


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From now on a query reaches the views alone: no file, no network, no other setting."""
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
