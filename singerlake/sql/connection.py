"""A DuckDB connection: in memory, in UTC, with a folder for what does not fit into memory."""

from __future__ import annotations

import duckdb

from singerlake.sql.name import text


def open_connection(spill: str) -> duckdb.DuckDBPyConnection:
    """An empty database in memory, and beside it `published`, another one.

    What memory does not hold goes to the folder `spill`; without it, to the current folder.
    """
    connection = duckdb.connect()
    connection.execute(f"set temp_directory = {text(spill)}")
    connection.execute("set TimeZone = 'UTC'")
    connection.execute("attach ':memory:' as published")
    return connection


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From now on a query reaches the views alone: no file, no network, no other setting."""
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
