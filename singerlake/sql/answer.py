"""The answer to a query: its rows, and the values that did not fit on the way."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from singerlake.sql.connection import interruptible, lock
from singerlake.sql.misfit import Misfit
from singerlake.sql.name import told_apart
from singerlake.sql.request import SqlRequest
from singerlake.sql.session import Session, open_session
from singerlake.sql.statement import explained, missing_view, named_views, require_query

ROWS = 10_000
"""Rows of a batch."""

_INTERRUPTED = "interrupted"
"""What DuckDB says, by errors of several kinds, where Ctrl+C stopped a query."""


@dataclass(frozen=True)
class Answer:
    """What a query answers, while it runs: the rows can be read once.

    No two `columns` have the same name: a join may have an `id` of each side, and a row in JSON
    holds a name once. `types` are DuckDB's, by column. `misfits` are known once the last row has
    been read.
    """

    columns: tuple[str, ...]
    types: tuple[str, ...]
    session: Session
    relation: duckdb.DuckDBPyRelation

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The rows. Raises `BadQuery`, and whatever reading a stream raises."""
        with _ours(self.session):
            for batch in self.relation.to_arrow_reader(ROWS):
                yield batch.rename_columns(list(self.columns))

    def table(self) -> pa.Table:
        """All rows at once."""
        with _ours(self.session):
            return self.relation.to_arrow_table().rename_columns(list(self.columns))

    def misfits(self) -> list[Misfit]:
        return self.session.scans.misfits()


@contextmanager
def answered(request: SqlRequest, text: str) -> Iterator[Answer]:
    """Run a query that reaches the views alone. Raises `BadQuery`."""
    session = open_session(request)
    try:
        require_query(session.connection, text)
        session.add(named_views(text, session.views))
        lock(session.connection)
        with interruptible(session.connection):
            with _ours(session):
                relation = session.connection.sql(text)
            names, types = told_apart(relation.columns), tuple(map(str, relation.types))
            yield Answer(tuple(names), types, session, relation)
    finally:
        session.close()


@contextmanager
def _ours(session: Session) -> Iterator[None]:
    """DuckDB's errors as ours: what failed in a scan, or a view that could not be made."""
    try:
        yield
    except Exception as error:  # Arrow has several of its own for what fails in a scan
        if session.scans.failure is not None:
            raise session.scans.failure from None
        if _INTERRUPTED in str(error).lower():
            raise KeyboardInterrupt from None
        if not isinstance(error, duckdb.Error):
            raise
        missing = missing_view(error)
        for view, reason in session.broken.items():
            if missing is not None and missing.lower() in map(str.lower, view.names):
                raise reason from None
        raise explained(error, session.views) from None
