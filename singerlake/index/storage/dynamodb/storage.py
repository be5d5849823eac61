"""The questions to an index in DynamoDB: day by day, and each file on one of its days only."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import msgspec

from singerlake.errors import BadLocation, ConfigError
from singerlake.index.entry import Entry
from singerlake.index.newest import age, is_singer_file
from singerlake.index.page import PAGE
from singerlake.index.query import Position, Query, matches, position
from singerlake.index.storage.base import Change, EndedRun, Lack, Storage
from singerlake.index.storage.dynamodb import place as places
from singerlake.index.storage.dynamodb.change import RUNS, DynamoDBChange, gaps, log_entries, remove
from singerlake.index.storage.dynamodb.item import (
    HASH,
    RANGE,
    day_of,
    day_partition,
    entry_of,
    id_partition,
    items_of,
    long_partition,
    record_of,
    run_partition,
)
from singerlake.index.storage.dynamodb.place import FACTS, STREAMS, TAPS, Place
from singerlake.index.storage.dynamodb.table import Table
from singerlake.index.storage.safe_text import from_safe, to_safe
from singerlake.index.summary import By, Tally, tally
from singerlake.lake.feed.cursor import Cursor

EXPECTED = "dynamodb://TABLE?region=…&endpoint_url=…&latest=TABLE"
LONGEST_ID = 512


def open_dynamodb(name: str, options: Mapping[str, str]) -> DynamoDBStorage:
    """The index in a table, which is made where it is missing. Raises `BadLocation`."""
    unknown = set(options) - {"region", "endpoint_url", "latest"}
    if not name or unknown:
        raise BadLocation(f"expected {EXPECTED}, found {name!r} with {sorted(unknown)}")
    table = Table(name, options.get("latest") or f"{name}-latest", options)
    table.create()
    return DynamoDBStorage(name, table)


class DynamoDBStorage(Storage):
    """Day by day. A day of the streams that a question is about is in memory at once."""

    def __init__(self, name: str, table: Table) -> None:
        self.url = f"dynamodb://{name}"
        self._table = table

    def _fact(self, name: str) -> str | None:
        found = self._table.get(FACTS, name)
        return None if found is None else from_safe(str(found["value"]))

    def _put_fact(self, name: str, value: str) -> None:
        self._table.put([{HASH: FACTS, RANGE: name, "value": to_safe(value)}])

    @property
    def lake_id(self) -> str | None:
        return self._fact("lake_id")

    def bind(self, lake_id: str, root: str = "") -> None:
        known = self.lake_id
        if known is None:
            self._put_fact("lake_id", lake_id)
        elif known != lake_id:
            raise ConfigError(
                f"the index {self.url} is of the lake {known}, and this lake is {lake_id}; "
                "name another index with --index, or make this one again from this lake by "
                "`singerlake index rebuild`"
            )
        if root:
            self._put_fact("root", root)

    # Questions

    def page(self, query: Query, after: Position | None = None, limit: int = PAGE) -> list[Entry]:
        found: list[Entry] = []
        for entry in self._answer(query, after):
            if len(found) == limit:
                break
            found.append(entry)
        return found

    def _answer(self, query: Query, after: Position | None = None) -> Iterator[Entry]:
        """Every entry of the answer behind a position, in order."""
        covered = [
            one for one in places.every(self._table, STREAMS) if query.covers(one.tap, one.stream)
        ]
        names = sorted({one.stream for one in covered})
        if query.run_id is not None:
            yield from _ordered(self._of_run(query.run_id, names), query, after)
            return
        begins = [one.first_day for one in covered if one.first_day is not None]
        ends = [one.last_day for one in covered if one.last_day is not None]
        if not begins:
            return
        first = min(begins) if query.start is None else max(day_of(query.start), min(begins))
        last = max(ends) if query.end is None else min(day_of(query.end), max(ends))
        begin = first if after is None else max(first, day_of(after[0]))
        for day in range(begin, max(first, last) + 1):
            yield from _ordered(self._on_day(names, day, first), query, after)

    def _on_day(self, names: Iterable[str], day: int, first: int) -> Iterator[Entry]:
        """The entries whose turn is on a day: on their own first one, or on the question's."""
        for name in names:
            for item in self._table.partition(day_partition(day, name)):
                entry = entry_of(item)
                if max(day_of(entry.start), first) == day:
                    yield entry
            if day == first:
                for item in self._table.partition(long_partition(name)):
                    entry = entry_of(item)
                    if day_of(entry.start) < first:
                        yield entry

    def _of_run(self, run_id: str, names: Iterable[str]) -> Iterator[Entry]:
        seen: set[str] = set()
        for name in names if run_id else ():
            for item in self._table.of_run(run_partition(run_id, name)):
                entry = entry_of(item)
                if entry.id not in seen:
                    seen.add(entry.id)
                    yield entry

    def count(self, query: Query) -> int:
        return sum(1 for _ in self._answer(query))

    def latest(self, tap: str, stream: str, since: int | None = None) -> Entry | None:
        both = [places.read(self._table, tap, stream, uploads) for uploads in (False, True)]
        named = both[0].named
        days = [
            one for place in both for one in (place.first_day, place.last_day) if one is not None
        ]
        if not days:
            return None
        first = min(days) if since is None else max(min(days), day_of(since))
        for day in range(max(days), first - 1, -1):
            found = [
                entry
                for entry in map(entry_of, self._table.partition(day_partition(day, stream)))
                if day_of(entry.start) == day
                and entry.tap == tap
                and (since is None or entry.start >= since)
                and not (named and is_singer_file(entry))
            ]
            if found:
                return max(found, key=age)
        return None

    def names_files(self, tap: str, stream: str) -> bool:
        return places.read(self._table, tap, stream).named

    def by_id(self, id: str) -> Entry | None:
        if len(id) > LONGEST_ID:
            return None
        item = self._table.get(id_partition(id), "-")
        return None if item is None else entry_of(item)

    def summary(self, query: Query, by: By) -> list[Tally]:
        return tally(query, self._answer(query), by)

    def streams(self) -> list[tuple[str, str]]:
        found = places.every(self._table, STREAMS)
        return sorted((one.tap, one.stream) for one in found if not one.uploads)

    # Everything

    def entries(self, tap: str, stream: str) -> Iterator[Entry]:
        return log_entries(self._table, Place(tap=tap, stream=stream))

    def uploads(self) -> Iterator[Entry]:
        kept = [one for one in places.every(self._table, STREAMS) if one.uploads]
        found = (entry for one in kept for entry in log_entries(self._table, one))
        return iter(sorted(found, key=lambda entry: entry.id))

    def lacks(self, tap: str, stream: str) -> list[Lack]:
        found = gaps(self._table, Place(tap=tap, stream=stream))
        return [msgspec.structs.replace(one, reason=from_safe(one.reason)) for one in found]

    def runs(self) -> Iterator[EndedRun]:
        runs = []
        for item in self._table.partition(RUNS):
            tap, run_id, writer_id = map(from_safe, str(item[RANGE]).split("\x1f"))
            names = msgspec.json.decode(item["streams"], type=tuple[str, ...])
            streams = tuple(map(from_safe, names))
            begun, ended = int(item["begun"]), int(item["ended"])
            runs.append(EndedRun(tap, run_id, writer_id, item["outcome"], begun, ended, streams))
        return iter(sorted(runs, key=lambda run: (run.tap, run.run_id, run.writer_id)))

    # Changes

    def cursor(self) -> Cursor:
        streams = list(places.every(self._table, STREAMS))
        taps = list(places.every(self._table, TAPS))
        return Cursor(
            {(one.tap, one.stream): one.bookmark for one in streams if one.bookmark is not None},
            {one.tap: one.bookmark for one in taps if one.bookmark is not None},
        )

    @contextmanager
    def change(self, tap: str, stream: str = "") -> Iterator[Change]:
        yield DynamoDBChange(self._table, tap, stream, self._fact("root") or "")

    def drop(self, tap: str, stream: str) -> None:
        change = DynamoDBChange(self._table, tap, stream, "")
        change.clear()
        places.drop(self._table, Place(tap=tap, stream=stream))

    def put_uploads(self, entries: Sequence[Entry]) -> None:
        for entry in entries:
            known = self.by_id(entry.id)
            if known is not None and known.upload is not None:
                before = Place(tap=known.tap, stream=known.stream, uploads=True)
                remove(self._table, iter([known]), before, "")
            place = places.read(self._table, entry.tap, entry.stream, uploads=True)
            self._table.put(items_of(entry, "", place.key))
            what_where = f"{to_safe(entry.stream)}:{to_safe(entry.tap)}"
            self._table.put_latest(what_where, record_of(entry, ""))
            places.keep(self._table, place.spanning([entry]))

    def forget(self) -> None:
        for tap, stream in self.streams():
            self.drop(tap, stream)
        for partition in (TAPS, RUNS):
            self._table.delete(list(self._table.partition(partition)))
        self._table.delete([{HASH: FACTS, RANGE: "lake_id"}])

    def close(self) -> None:
        """Nothing is open between two requests."""


def _ordered(entries: Iterable[Entry], query: Query, after: Position | None) -> list[Entry]:
    found = [
        entry
        for entry in entries
        if matches(query, entry) and (after is None or position(entry) > after)
    ]
    return sorted(found, key=position)
