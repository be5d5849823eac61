"""Names in SQL: quoted, and told apart where DuckDB, which ignores case, would not."""

from __future__ import annotations

from collections.abc import Iterable

RESERVED = frozenset(
    {"information_schema", "main", "memory", "pg_catalog", "published", "system", "temp"}
)
"""Names that DuckDB or a connection of ours has already."""


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def text(value: str) -> str:
    """A string in SQL."""
    return "'" + value.replace("'", "''") + "'"


def distinct(names: Iterable[str], taken: Iterable[str] = ()) -> dict[str, str]:
    """A name in SQL for each name: its own, or where that is taken, with `_1`, `_2` … behind it."""
    used = {name.lower() for name in taken}
    found: dict[str, str] = {}
    for name in names:
        # DuckDB's names are UTF-8, and end at a NUL.
        base = name.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0")
        made, number = base, 0
        while made.lower() in used:
            number += 1
            made = f"{base}_{number}"
        used.add(made.lower())
        found[name] = made
    return found
