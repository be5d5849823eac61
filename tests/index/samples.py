"""Entries as tests need them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence

from singerlake.index.entry import Entry, EntryIds, own_path
from singerlake.index.query import Query
from singerlake.index.storage.base import Storage
from singerlake.lake.feed.bookmark import Bookmark

LAKE, LOG = "lake", "log"
HASH = "StxYGwZ"
HOUR = 3_600_000_000
DAY = 24 * HOUR

STREAMS = (
    ("tap-a--x", "orders"),
    ("tap-a--x", "people"),
    ("tap-b--x", "orders"),
    ("tap-b--x", "a*\0[\ud800\\"),
)
LENGTHS = (0, 1, 1_000_000, HOUR, 5 * HOUR, DAY, 9 * DAY, 40 * DAY, 400 * DAY)


def entries_in(
    tap: str, stream: str, count: int, chance: random.Random, first: int = 1, log: str = LOG
) -> list[Entry]:
    """A stream's entries: of every length, some merged, some at the same time as others."""
    ids = EntryIds(LAKE, tap, stream, log)
    return [_entry(ids, tap, stream, log, number, chance) for number in range(first, first + count)]


def _entry(
    ids: EntryIds, tap: str, stream: str, log: str, number: int, chance: random.Random
) -> Entry:
    start = chance.randrange(-5, 60) * 7 * HOUR
    end = start + chance.choice(LENGTHS)
    forgotten, merged = chance.random() < 0.05, chance.random() < 0.2
    digest = hashlib.sha256(f"{tap} {number}".encode()).hexdigest()
    suffix = chance.choice(["", "ff00aa11", "0123abcd", digest[:10], "0123456789"])
    return Entry(
        id=ids.id(number),
        tap=tap,
        stream=stream,
        log_id=log,
        sequence=number,
        run_id=None if forgotten else f"run-{number // 7}",
        writer_id=None if forgotten else "writer",
        schema_hash=HASH,
        version=1,
        start=start,
        end=end,
        hash=f"sha256:{digest}" if number % 9 else "",
        size=chance.randrange(1_000),
        records=chance.choice([None, 0, 7]),
        create_time=chance.randrange(10),
        path=f"{HASH}/merged-{number // 5}"
        if merged
        else own_path(stream, HASH, start, end, suffix),
        merged=merged,
    )


def fill(storage: Storage, seed: int, count: int = 60) -> list[Entry]:
    """An index of a few streams; returns all of its entries."""
    chance = random.Random(seed)
    storage.bind(LAKE)
    found: list[Entry] = []
    for tap, stream in STREAMS:
        entries = entries_in(tap, stream, count, chance)
        put(storage, entries)
        found += entries
    return found


def put(storage: Storage, entries: Sequence[Entry]) -> None:
    """Into one stream, as one change."""
    last = entries[-1]
    with storage.change(last.tap, last.stream) as change:
        change.add(entries)
        change.keep(Bookmark(last.log_id, last.sequence))


def queries(seed: int) -> Iterator[Query]:
    """Questions of every kind, without an end."""
    chance = random.Random(seed)
    times = [None, *(number * 5 * HOUR + chance.choice([-1, 0, 1]) for number in range(-10, 120))]
    while True:
        start, end = chance.choice(times), chance.choice(times)
        if start is not None and end is not None and start > end:
            start, end = end, start
        yield Query(
            tap=chance.choice([None, None, "tap-a--x", "tap-none"]),
            stream=chance.choice([None, "orders", "orders", "people", "a*\0[\ud800\\"]),
            tap_pattern=chance.choice([None, None, None, "tap-[ab]*", "*-none"]),
            stream_pattern=chance.choice([None, None, None, "*o*", "a[*]*"]),
            start=start,
            end=end,
            run_id=chance.choice([None, None, None, "run-3", "run-99"]),
            version=chance.choice([None, None, None, 1, 2]),
            min_size=chance.choice([None, None, None, 300]),
            max_size=chance.choice([None, None, None, 700]),
        )
