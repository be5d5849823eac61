"""Every error of `singerlake.errors`, with the command's exit code."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from mkdocs.exceptions import PluginError
from text import prose, table

from singerlake import cli, errors


def page() -> str:
    return (
        "# Errors\n\nMade from the code: what Singerlake raises on purpose. All are in "
        "`singerlake.errors`; catch `SingerlakeError` to catch all of them. The `singerlake` "
        "command ends with the exit code, the plugins with 1; either says the error's name and one "
        "line. What to do about each is in [Recovery](../operations/recovery.md).\n\n"
        + table(["error", "what it means", "exit code"], _rows(errors.SingerlakeError, 0))
    )


def _exit_codes() -> list[tuple[type[errors.SingerlakeError], int]]:
    """The command's own table of kinds and codes, whatever it is called."""
    module = sys.modules[cli.main.callback.__module__]
    tables = [value for value in vars(module).values() if isinstance(value, tuple) and value]
    for rows in tables:
        if all(isinstance(row, tuple) and isinstance(row[0], type) for row in rows):
            return list(rows)
    raise PluginError(f"{module.__name__} has no table of errors and exit codes")


def _rows(kind: type[errors.SingerlakeError], depth: int) -> Iterator[list[str]]:
    indent = "&nbsp;" * 4 * depth
    code = next((str(code) for base, code in _exit_codes() if issubclass(kind, base)), "1")
    yield [f"{indent}`{kind.__name__}`", prose(kind.__doc__ or ""), code]
    for below in vars(errors).values():
        if isinstance(below, type) and kind in below.__bases__:
            yield from _rows(below, depth + 1)
