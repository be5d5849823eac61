"""What people and scripts see: tables and JSON on stdout, errors on stderr."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import click
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from singerlake.cli.name import shown

PIPE_WIDTH = 200
"""Lines of a pipe or a file are not cut to a screen's width."""

NAME_WIDTH = 12
"""Names are folded, and on a narrow screen to no less than this."""

GAP = 2
"""Between the columns of a table."""


class _Console(Console):
    """Leaves a closed pipe to the command, whose exit code says so; rich would exit with 1."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def is_terminal() -> bool:
    """Whether a person's screen is at the end of stdout."""
    return sys.stdout.isatty()


def output() -> Console:
    """Stdout; made when it is used, so that it is as wide as the terminal is then.

    Colours are rich's business: it asks the terminal, NO_COLOR and FORCE_COLOR.
    """
    told = is_terminal() or "COLUMNS" in os.environ
    return _Console(width=None if told else PIPE_WIDTH, highlight=False)


def errors() -> Console:
    """Stderr."""
    return _Console(stderr=True, highlight=False)


def say(*parts: str | Text) -> None:
    """One line, of our own words (with rich's markup) and of `shown` names."""
    line = Text()
    for part in parts:
        line.append_text(Text.from_markup(part) if isinstance(part, str) else part)
    output().print(line, soft_wrap=True)


def complain(message: object, label: str = "Error") -> None:
    """One line on stderr."""
    errors().print(Text.assemble((f"{label}:", "bold red"), " ", shown(message)), soft_wrap=True)


def print_json(value: object) -> None:
    """One JSON document, for scripts; times as ISO 8601."""
    click.echo(_json(value, indent=2))


def print_json_lines(values: Iterable[object]) -> None:
    """A JSON document on each line."""
    for value in values:
        click.echo(_json(value))


def _json(value: object, indent: int | None = None) -> str:
    try:
        return _dumped(value, indent)
    except ValueError:  # rare, so that not every document is copied
        return _dumped(_finite(value), indent)


def _dumped(value: object, indent: int | None) -> str:
    return safe_json(
        json.dumps(
            value,
            indent=indent,
            default=_as_text,
            allow_nan=False,
            # Else stdout would escape what it cannot encode, in a way that JSON does not know.
            ensure_ascii=not _is_utf8(sys.stdout.encoding),
        )
    )


def _is_utf8(encoding: str | None) -> bool:
    return (encoding or "").lower().replace("_", "-") in ("utf-8", "utf8")


def _finite(value: Any) -> Any:
    """The value with NaN and infinities as text: Python reads them, JSON has no such numbers."""
    if isinstance(value, dict):
        return {key: _finite(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(one) for one in value]
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return value


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def safe_json(text: str) -> str:
    """JSON leaves some control characters as they are: a terminal would obey them."""
    if text.replace("\n", "").isprintable():
        return text
    return "".join(
        character
        if character.isprintable() or character == "\n"
        else json.dumps(character).strip('"')
        for character in text
    )


def table(*columns: str, numbers: tuple[str, ...] = (), fixed: tuple[str, ...] = ()) -> Table:
    """A plain table as wide as the console; what does not fit is folded, never cut.

    Columns named in `numbers` are aligned right. They, and those in `fixed`, keep to one line.
    """
    made = Table(box=None, header_style="bold", pad_edge=False)
    for column in columns:
        made.add_column(
            column,
            justify="right" if column in numbers else "left",
            overflow="fold",
            no_wrap=column in numbers or column in fixed,
        )
    return made


def print_table(made: Table, drop: tuple[str, ...] = ()) -> None:
    """On a narrow screen without the columns to `drop`, as many as it takes, the first first.

    What is shown is whole: where even that does not fit, the terminal wraps the lines.
    """
    console = output()
    for column in drop:
        if _width(made) <= console.width:
            break
        made = _without(made, column)
    console.width = max(console.width, _width(made))
    console.print(made)


def _width(made: Table) -> int:
    """The least width at which no value is cut, and names are folded to a readable width."""
    widths = []
    for column in made.columns:
        cells = [column.header, *column.cells] if made.show_header else column.cells
        lines = (line for cell in cells for line in str(cell).split("\n"))
        widest = max(map(cell_len, lines), default=0)
        least = widest if column.no_wrap else min(widest, NAME_WIDTH)
        widths.append(max(least, column.min_width or 0))
    return sum(widths) + GAP * (len(widths) - 1)


def _without(made: Table, header: str) -> Table:
    kept = [column for column in made.columns if column.header != header]
    fresh = Table(box=None, header_style="bold", pad_edge=False, show_header=made.show_header)
    for column in kept:
        fresh.add_column(
            column.header,
            justify=column.justify,
            overflow=column.overflow,
            no_wrap=column.no_wrap,
            min_width=column.min_width,
        )
    for row, *cells in zip(made.rows, *(column.cells for column in kept), strict=True):
        fresh.add_row(*cells, style=row.style)
    return fresh


def size(count: int | None) -> str:
    """`1.5 MB`, in decimal units as stores bill them; a question mark for what nobody knows."""
    if count is None:
        return "?"
    value = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if abs(value) < 1000:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1000
    return f"{value:.1f} TB"


def number(count: int | None) -> str:
    """`12,345`; a question mark for what nobody knows."""
    return "?" if count is None else f"{count:,}"


def plural(count: int, noun: str) -> str:
    """`1 file`, `12,345 files`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def moment(value: datetime | None) -> str:
    return "" if value is None else f"{value:%Y-%m-%d %H:%M:%S}"
