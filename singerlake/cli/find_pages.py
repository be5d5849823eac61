"""All of an index's answer, however long, a stretch of time after the other.

A storage merges the streams of a page, and reads a page's worth of each: of a thousand streams that
is a thousand times what is shown. So each page is asked for within a stretch of time that holds
about as much as a page.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from singerlake.index import Entry, Query, Storage

PAGE = 5000

_MICRO = timedelta(microseconds=1)
_FIRST, _LONGEST = timedelta(hours=6) // _MICRO, timedelta(days=36_500) // _MICRO


def entries_of(storage: Storage, query: Query) -> Iterator[Entry]:
    """The entries of the answer in its order, each once, also while the index is written."""
    from singerlake.index.query import position

    after, stretch = None, _FIRST
    while following := storage.page(query, after, 1):
        end = max(following[0].start + stretch, query.start or following[0].start)
        end = end if query.end is None else min(end, query.end)
        page = storage.page(msgspec.structs.replace(query, end=end), after, PAGE)
        yield from page
        after = position((page or following)[-1])  # without a page it is gone meanwhile
        if len(page) == PAGE:
            stretch //= 4
        elif len(page) < PAGE // 4:
            stretch = min(4 * stretch + 1, _LONGEST)
