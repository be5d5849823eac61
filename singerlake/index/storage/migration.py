"""The versions of an index's tables, each made from the one before."""

from __future__ import annotations

from singerlake.errors import UnsupportedFormat
from singerlake.index.storage.connection import Connection
from singerlake.index.storage.statement import statements

FACT = "schema_version"


def migrate(connection: Connection, file: str, url: str) -> None:
    """Bring an index to the newest version: `version_1` and on of the file, in one transaction.

    Raises `UnsupportedFormat` where a newer Singerlake made it.
    """
    steps = statements(file)
    known = _version(connection, steps["is_there"])
    newest = len(steps) - 1
    if known > newest:
        raise UnsupportedFormat(
            f"{url}: the index has version {known}, and {newest} is the newest that this "
            "Singerlake knows; upgrade it (`pip install -U singerlake`)"
        )
    for number in range(known + 1, newest + 1):
        for statement in steps[f"version_{number}"].split(";"):
            if statement.strip():
                connection.run(statement, {})
    if known < newest:
        sql = statements("write.sql")["put_fact"]
        connection.run(sql, {"name": FACT, "value": str(newest)})


def is_current(connection: Connection, file: str) -> bool:
    """Whether there is nothing to do: most who open an index find it so, and need not write."""
    steps = statements(file)
    return _version(connection, steps["is_there"]) == len(steps) - 1


def _version(connection: Connection, is_there: str) -> int:
    if not connection.rows(is_there, {}):
        return 0
    rows = connection.rows(statements("read.sql")["fact"], {"name": FACT})
    return int(rows[0][0]) if rows else 0
