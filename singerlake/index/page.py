"""A page of an answer, and the cursor of the next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from singerlake.index import cursor as cursors
from singerlake.index.entry import Entry
from singerlake.index.query import Position, Query, position

PAGE = 100
"""Entries on a page, where nobody asks for another number."""

Ask = Callable[[Query, "Position | None", int], list[Entry]]


@dataclass(frozen=True)
class Page:
    """`next` is the cursor of the next page; None on the last."""

    entries: tuple[Entry, ...]
    next: str | None


def read_page(ask: Ask, query: Query, cursor: str | None = None, limit: int = PAGE) -> Page:
    """One page of an answer, in the order of time: `read_page(storage.page, query)`.

    An entry comes on one page only, whatever is committed meanwhile. Raises `BadCursor`.
    """
    after = None if cursor is None else cursors.decode(query, cursor)
    found = ask(query, after, limit + 1)
    shown = found[:limit]
    following = cursors.encode(query, position(shown[-1])) if len(found) > limit else None
    return Page(tuple(shown), following)
