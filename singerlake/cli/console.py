"""What people and scripts see: tables and JSON on stdout, errors on stderr."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from datetime import datetime

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from singerlake.cli.name import shown

PIPE_WIDTH = 200
"""Lines of a pipe or a file are not cut to a screen's width."""


def is_terminal() -> bool:
    """Whether a person's screen is at the end of stdout."""
    return sys.stdout.isatty()


def output() -> Console:
    """Stdout; made when it is used, so that it is as wide as the terminal is then.

    Colours are rich's business: it asks the terminal, NO_COLOR and FORCE_COLOR.
    """
    told = is_terminal() or "COLUMNS" in os.environ
    return Console(width=None if told else PIPE_WIDTH, highlight=False)


def errors() -> Console:
    """Stderr."""
    return Console(stderr=True, highlight=False)


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
    click.echo(_safe(json.dumps(value, indent=2, default=_as_text, ensure_ascii=False)))


def print_json_lines(values: Iterable[object]) -> None:
    """A JSON document on each line."""
    for value in values:
        click.echo(_safe(json.dumps(value, default=_as_text, ensure_ascii=False)))


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


def _safe(text: str) -> str:
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


def print_table(made: Table) -> None:
    output().print(made)


def size(count: int) -> str:
    """`1.5 MB`, in decimal units as stores bill them."""
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
