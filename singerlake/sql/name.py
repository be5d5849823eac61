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
    given = list(names)
    # DuckDB's names are UTF-8, and end at a NUL.
    texts = [n.encode("utf-8", "backslashreplace").decode().replace("\0", "\\0") for n in given]
    return dict(zip(given, told_apart(texts, taken), strict=True))


def told_apart(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names, with `_1`, `_2` … behind those that are taken: as DuckDB does, regardless of
    case."""
    used = {name.lower() for name in taken}
    found: list[str] = []
    for name in names:
        made, number = name, 0
        while made.lower() in used:
            number += 1
            made = f"{name}_{number}"
        used.add(made.lower())
        found.append(made)
    return found
