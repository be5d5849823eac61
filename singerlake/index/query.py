"""A query: which entries, in which order."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from heapq import nsmallest

import msgspec

from singerlake.index.entry import Entry

Position = tuple[int, int, int, int, int]
"""Where an entry is in the order of all: (start, end, sequence, ordinal, stream key)."""

STREAM_KEY_BYTES = 6


class Query(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """All that is given has to be true of an entry; an empty query is for every entry.

    `tap` and `stream` are names; the patterns have `*`, `?` and `[…]`. `start` and `end` are
    microseconds since 1970: an entry whose time touches the interval is in it, both ends included,
    and None is an open end.
    """

    tap: str | None = None
    stream: str | None = None
    tap_pattern: str | None = None
    stream_pattern: str | None = None
    start: int | None = None
    end: int | None = None
    run_id: str | None = None
    version: int | None = None
    min_size: int | None = None
    max_size: int | None = None

    def covers(self, tap: str, stream: str) -> bool:
        """Whether entries of a stream can be in the answer."""
        return (
            (self.tap is None or tap == self.tap)
            and (self.stream is None or stream == self.stream)
            and (self.tap_pattern is None or fnmatchcase(tap, self.tap_pattern))
            and (self.stream_pattern is None or fnmatchcase(stream, self.stream_pattern))
        )

    def digest(self) -> str:
        """Eight digits that tell the query from others."""
        return hashlib.sha256(msgspec.json.encode(_printable(self))).hexdigest()[:8]


def _printable(query: Query) -> dict[str, object]:
    """Without lone surrogates, which msgspec does not write."""
    body = msgspec.structs.asdict(query)
    return {
        name: json.dumps(value) if isinstance(value, str) else value for name, value in body.items()
    }


def matches(query: Query, entry: Entry) -> bool:
    """Whether an entry is in the answer. The meaning of a query: every storage agrees with it."""
    return (
        query.covers(entry.tap, entry.stream)
        and (query.start is None or entry.end >= query.start)
        and (query.end is None or entry.start <= query.end)
        and (query.run_id is None or entry.run_id == query.run_id)
        and (query.version is None or entry.version == query.version)
        and (query.min_size is None or entry.size >= query.min_size)
        and (query.max_size is None or entry.size <= query.max_size)
    )


def position(entry: Entry) -> Position:
    """By time; then in the order of the log; then in an order of streams that never changes."""
    key = stream_key(entry.tap, entry.stream, entry.upload is not None)
    return entry.start, entry.end, entry.sequence, entry.ordinal, key


def answer(
    query: Query, entries: Iterable[Entry], after: Position | None = None, limit: int | None = None
) -> list[Entry]:
    """The answer by looking at every entry: slower than an index, and the same."""
    found = (entry for entry in entries if matches(query, entry))
    rest = (entry for entry in found if after is None or position(entry) > after)
    return sorted(rest, key=position) if limit is None else nsmallest(limit, rest, key=position)


@lru_cache(maxsize=10_000)
def stream_key(tap: str, stream: str, uploads: bool = False) -> int:
    """A number for a stream, which is the same in every index. Uploads of these names have one of
    their own."""
    text = json.dumps(["upload" if uploads else "stream", tap, stream])
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return int.from_bytes(digest[:STREAM_KEY_BYTES], "big") >> 1
