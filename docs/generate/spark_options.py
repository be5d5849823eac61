"""The options of the Spark source: the tables of docs/spark.md, held against the code."""

from __future__ import annotations

import re
from pathlib import Path

from mkdocs.exceptions import PluginError

from singerlake.spark import options
from singerlake.spark.tables import options as table_options
from singerlake.spark.tables.columns import TABLES

_GUIDE = Path(__file__).parents[1] / "spark.md"
_NOT_FOR_USERS = {"path", "activations", "exact"}  # `load(path)`, and the package's own


def page() -> str:
    text = _GUIDE.read_text(encoding="utf-8")
    table, columns = _section(text, "Options"), _section(text, "Metadata columns")
    known = (options._KNOWN - _NOT_FOR_USERS) | {table_options.OPTION}
    _compare("options", _first_cells(table), known)
    _compare("metadata columns", _first_cells(columns), set(options.METADATA))
    about = {name: _section(text, f"`{name}`") for name in TABLES}
    for name, section in about.items():
        _compare(f"columns of {name}", _first_cells(section), set(TABLES[name].names))
    tables = "\n\n".join(f"### `{name}`\n\n{_relinked(rows)}" for name, rows in about.items())
    return (
        "# Spark options\n\nThe tables of [the guide](../spark.md), which the build compares with "
        f"the code.\n\n## Options of a read\n\n{_relinked(table)}\n\n"
        f"## Metadata columns\n\n{_relinked(columns)}\n\n## Tables about the lake\n\n{tables}\n"
    )


def _section(text: str, title: str) -> str:
    match = re.search(rf"^### {title}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    if match is None:
        raise PluginError(f"docs/spark.md has no section {title!r}")
    return match[1].strip()


def _first_cells(section: str) -> set[str]:
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("|")][2:]
    return {name.lower() for row in rows for name in re.findall(r"`([^`]+)`", row)}


def _compare(what: str, shown: set[str], known: set[str]) -> None:
    known = {name.lower() for name in known}
    if shown != known:
        raise PluginError(
            f"docs/spark.md: its {what} are not those of the code: missing "
            f"{sorted(known - shown)}, too many {sorted(shown - known)}"
        )


def _relinked(text: str) -> str:
    return re.sub(r"\]\(#", "](../spark.md#", text)
