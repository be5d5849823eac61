"""The rows of an index for the pages: what each stream got on each day, and from each run."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from singerlake.cli.index_option import opened
from singerlake.lake import Lake

if TYPE_CHECKING:
    from singerlake.index import Tally
    from singerlake.site.found import Found, FoundRows


def found_rows(url: str, lake: Lake) -> FoundRows:
    """All days and runs that the index knows. Raises `ConfigError` for another lake's index."""
    from singerlake.index import Query
    from singerlake.site.found import FoundRows

    days: list[Found] = []
    runs: list[Found] = []
    with closing(opened(url, lake)) as storage:
        for tap, stream in storage.streams():
            query = Query(tap=tap, stream=stream)
            days += [_row(tap, stream, one) for one in storage.summary(query, "day")]
            runs += [_row(tap, stream, one) for one in storage.summary(query, "run")]
        return FoundRows(storage.url, tuple(days), tuple(runs))


def _row(tap: str, stream: str, tally: Tally) -> Found:
    from singerlake.index import moment
    from singerlake.site.found import Found

    return Found(
        tap=tap,
        stream=stream,
        key=tally.key[-1],
        files=tally.files,
        records=tally.records,
        bytes=tally.bytes,
        first=moment(tally.start),
        last=moment(tally.end),
    )
