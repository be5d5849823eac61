"""A DuckDB connection: in memory, in UTC, with a folder for what does not fit into memory."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

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


@contextmanager
def interruptible(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Ctrl+C ends a query: DuckDB by itself waits for its threads, which go on to the end."""
    before = signal.getsignal(signal.SIGINT)
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or before is not signal.default_int_handler:
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        connection.interrupt()
        signal.default_int_handler(number, frame)

    signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def lock(connection: duckdb.DuckDBPyConnection) -> None:
    """From now on a query reaches the views alone: no file, no network, no other setting."""
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
