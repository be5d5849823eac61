"""The page to find days and runs on, from the rows of an index.

Whoever builds the site hands the rows over: the site knows no index.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

ROWS_SHOWN = 2000
"""Of the days and of the runs: a page that opens at once."""


@dataclass(frozen=True)
class Found:
    """What a stream got on one day, or from one run. `key` is the day, such as 2026-03-01, or the
    run's id; `first` and `last` are times of extraction."""

    tap: str
    stream: str
    key: str
    files: int
    records: int
    bytes: int
    first: datetime
    last: datetime


@dataclass(frozen=True)
class FoundRows:
    """All that an index knows of days and runs; `index` is its address, for people."""

    index: str
    days: tuple[Found, ...]
    runs: tuple[Found, ...]


@dataclass(frozen=True)
class Section:
    """The newest rows of one kind, and how many more there are."""

    rows: tuple[Found, ...]
    more: int


def section(rows: Iterable[Found]) -> Section:
    """The newest first."""
    newest = sorted(rows, key=lambda row: (row.last, row.tap, row.stream, row.key), reverse=True)
    return Section(tuple(newest[:ROWS_SHOWN]), max(len(newest) - ROWS_SHOWN, 0))
