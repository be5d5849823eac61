"""A summary: how many files, records and bytes an answer has, by day, run or stream."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Literal

import msgspec

from singerlake.index.entry import Entry, moment
from singerlake.index.query import Query, matches

By = Literal["day", "run", "stream"]

DAY = timedelta(days=1) // timedelta(microseconds=1)


class Tally(msgspec.Struct, frozen=True, kw_only=True):
    """What one day, run or stream adds up to.

    `key` is (day,) such as ("2026-03-01",), of the entries that begin on it; (tap, run id), where
    the run id of files of nobody knows which run is ""; or (tap, stream). Files whose records
    nobody counted add none.
    """

    key: tuple[str, ...]
    files: int
    records: int
    bytes: int
    start: int
    end: int


def tally(query: Query, entries: Iterable[Entry], by: By) -> list[Tally]:
    """The summary by looking at every entry: slower than an index, and the same."""
    found = (entry for entry in entries if matches(query, entry))
    return added(
        Tally(
            key=_key(entry, by),
            files=1,
            records=entry.records or 0,
            bytes=entry.size,
            start=entry.start,
            end=entry.end,
        )
        for entry in found
    )


def added(tallies: Iterable[Tally]) -> list[Tally]:
    """One for each key, in the order of the keys."""
    sums: dict[tuple[str, ...], Tally] = {}
    for one in tallies:
        known = sums.get(one.key)
        sums[one.key] = one if known is None else _sum(known, one)
    return [sums[key] for key in sorted(sums)]


def _sum(one: Tally, other: Tally) -> Tally:
    return Tally(
        key=one.key,
        files=one.files + other.files,
        records=one.records + other.records,
        bytes=one.bytes + other.bytes,
        start=min(one.start, other.start),
        end=max(one.end, other.end),
    )


def day_key(day: int) -> str:
    """The text of a day that is counted from 1970."""
    return moment(day * DAY).date().isoformat()


def _key(entry: Entry, by: By) -> tuple[str, ...]:
    if by == "day":
        return (day_key(entry.start // DAY),)
    if by == "run":
        return entry.tap, entry.run_id or ""
    return entry.tap, entry.stream
