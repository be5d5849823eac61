"""A query: which views it names, and what DuckDB says of it in one line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import duckdb

from singerlake.errors import BadQuery
from singerlake.format.nearest import nearest
from singerlake.sql.view import View

_READS = frozenset({"SELECT", "EXPLAIN", "PRAGMA", "CALL", "MULTI"})
"""Kinds of statements that change nothing; a `pivot` is several in one."""

_LISTS_VIEWS = re.compile(
    r"\b(show|information_schema|duckdb_\w+|pg_\w+|pragma\w*)\b", re.IGNORECASE
)

_MISSING = re.compile(r"Table with name (.+?) does not exist")


def require_query(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Raises `BadQuery` unless the text is one statement that reads."""
    try:
        found = connection.extract_statements(text)
    except duckdb.Error as error:
        raise BadQuery(one_line(error)) from None
    kinds = [str(statement.type).rpartition(".")[2] for statement in found]
    if len(kinds) != 1:
        raise BadQuery(f"expected one statement, found {len(kinds)}: run them one by one")
    if kinds[0] not in _READS:
        raise BadQuery(
            f"expected a statement that reads (select, describe, show, explain), found {kinds[0]}: "
            "a lake is not changed by SQL"
        )


def named_views(text: str, known: Sequence[View]) -> list[View]:
    """The views that a query may be about: those of the names in it, or all.

    All of them where it asks for the views themselves (`show tables`), or where its names cannot
    be told.
    """
    names = _table_names(text)
    if not names or _LISTS_VIEWS.search(text):
        return list(known)
    return [view for view in known if view.name.lower() in names]


def _table_names(text: str) -> set[str]:
    # On a connection of its own: one that has the views would leave them out.
    connection = duckdb.connect()
    try:
        return {name.lower() for name in connection.get_table_names(text)}
    except duckdb.Error:
        return set()
    finally:
        connection.close()


def missing_view(error: duckdb.Error) -> str | None:
    """The view that a query names and that is not there, as far as DuckDB says it."""
    found = _MISSING.search(str(error))
    return found[1].strip('"') if found else None


def explained(error: duckdb.Error, known: Iterable[View]) -> BadQuery:
    """DuckDB's error as ours, with the names of views that are nearly right."""
    missing = missing_view(error)
    if missing is None:
        return BadQuery(one_line(error))
    views = list(known)
    names = {name: view for view in views for name in view.names}
    near = nearest(missing, names)
    found = " or ".join(view.sql for view in views if near and view.name == names[near].name)
    hint = f"Did you mean {found}?" if found else "`singerlake sql` lists the views"
    return BadQuery(f"there is no view {missing}. {hint}")


def one_line(error: duckdb.Error) -> str:
    """What DuckDB says, without the lines that draw the query."""
    text = str(error).partition("\nLINE ")[0]
    return " ".join(line.strip() for line in text.splitlines() if line.strip())
