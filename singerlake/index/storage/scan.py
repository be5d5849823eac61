"""Scans: which ranges of which indexes hold the answer to a query."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from singerlake.index.query import Position, Query, stream_key
from singerlake.index.storage.row import longest, name_key
from singerlake.index.storage.safe_text import to_safe
from singerlake.index.storage.statement import statements

EARLIEST, LATEST = -(2**63), 2**63 - 1

Streams = Callable[[], Iterable[tuple[str, str, bool]]]
"""Taps and streams, each with whether it is of uploads; asked for where a query needs them."""

_SQL = statements("read.sql")


@dataclass(frozen=True)
class Scan:
    """One range of one index, in the order of the answer. `where` is SQL."""

    where: str
    values: dict[str, Any] = field(hash=False)
    index: str = ""
    """The index that it is about, where a planner may not see it."""

    def behind(self, after: Position | None) -> Scan:
        """The part of the scan that comes after a position."""
        if after is None:
            return self
        names = ("after_starts", "after_ends", "after_sequence", "after_ordinal", "after_stream")
        values = {**self.values, **dict(zip(names, after, strict=True))}
        values["low"] = max(values["low"], after[0])
        return Scan(f"{self.where} AND {_SQL['behind']}", values, self.index)


@dataclass(frozen=True)
class _Scope:
    column: str
    key: int


def plan(
    query: Query,
    lengths: Collection[int],
    streams: Streams,
    runs: Iterable[int] | None,
) -> list[list[Scan]]:
    """The scans of an answer: lists that follow each other, of scans that have to be merged.

    `lengths` are those of all entries, `streams` gives those that the query may cover, and `runs`
    are the numbers of the query's run, None where it asks for none.
    """
    query = _within_64_bits(query)
    filters, values = _filters(query)
    if runs is not None:
        chosen, more = _of_streams(query, streams)
        where = " AND ".join([_SQL["of_run"], *filters, *chosen])
        found = [_scan(where, query, EARLIEST, run, {**values, **more}) for run in runs]
        return [found]
    scopes = _scopes(query, streams)
    if query.stream is not None:
        filters, values = [*filters, "s.stream = :name"], {**values, "name": to_safe(query.stream)}
    begins = [
        _scan(
            " AND ".join([_SQL["begins"].format(scope=scope.column), *filters]),
            query,
            EARLIEST if query.start is None else query.start,
            scope.key,
            values,
        )
        for scope in scopes
    ]
    if query.start is None:
        return [begins]
    reaches = [
        _reaching(query, scope, length, filters, values)
        for scope in scopes
        for length in sorted(lengths)
    ]
    return [reaches, begins]


def _within_64_bits(query: Query) -> Query:
    """No entry has a number beyond, and no database takes one."""
    names = ("start", "end", "version", "min_size", "max_size")
    given = {name: getattr(query, name) for name in names}
    return msgspec.structs.replace(
        query,
        **{
            name: max(EARLIEST, min(number, LATEST))
            for name, number in given.items()
            if number is not None
        },
    )


def _reaching(
    query: Query, scope: _Scope, length: int, filters: list[str], values: dict[str, Any]
) -> Scan:
    # The literal lets a planner see that the index of long entries has all of these.
    of_length = f"e.length > 0 AND e.length = {length}" if length else "e.length = 0"
    where = _SQL["reaches"].format(scope=scope.column, length=of_length)
    low = max((query.start or 0) - longest(length), EARLIEST)
    found = _scan(" AND ".join([where, *filters]), query, low, scope.key, values)
    return replace(found, index=f"long_by_{scope.column}" if length else "")


def _scan(where: str, query: Query, low: int, key: int, values: dict[str, Any]) -> Scan:
    bounds = {
        "scope": key,
        "low": low,
        "high": LATEST if query.end is None else query.end,
        "start": EARLIEST if query.start is None else query.start,
    }
    return Scan(where, {**values, **bounds})


def _scopes(query: Query, streams: Streams) -> list[_Scope]:
    """What to look up: one name, or each stream of the answer."""
    is_name = query.tap is None and query.tap_pattern is None and query.stream_pattern is None
    if query.stream is not None and is_name:
        return [_Scope("name", name_key(query.stream))]
    return [
        _Scope("stream", stream_key(tap, stream, uploads))
        for tap, stream, uploads in streams()
        if query.covers(tap, stream)
    ]


def _of_streams(query: Query, streams: Streams) -> tuple[list[str], dict[str, Any]]:
    """The condition that entries of a run are of a query's streams."""
    if query.tap_pattern is not None or query.stream_pattern is not None:
        keys = [stream_key(*one) for one in streams() if query.covers(one[0], one[1])]
        return [f"e.stream IN ({', '.join(map(str, keys)) or 'NULL'})"], {}
    chosen, values = [], {}
    for column, name in (("tap", query.tap), ("stream", query.stream)):
        if name is not None:
            chosen.append(f"s.{column} = :of_{column}")
            values[f"of_{column}"] = to_safe(name)
    return chosen, values


def _filters(query: Query) -> tuple[list[str], dict[str, Any]]:
    """The conditions that no index serves."""
    filters, values = [], {}
    for column, sign, name in (
        ("v.version", "=", "version"),
        ("e.size", ">=", "min_size"),
        ("e.size", "<=", "max_size"),
    ):
        value = getattr(query, name)
        if value is not None:
            filters.append(f"{column} {sign} :{name}")
            values[name] = value
    return filters, values
