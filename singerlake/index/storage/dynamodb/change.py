"""A change of an index in DynamoDB: puts that may be made again, and the bookmark last."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from singerlake.index.entry import Entry
from singerlake.index.newest import age
from singerlake.index.storage.base import Change, EndedRun, Holder, Lack
from singerlake.index.storage.dynamodb import place as places
from singerlake.index.storage.dynamodb.item import (
    HASH,
    OWN,
    RANGE,
    Item,
    entry_of,
    items_of,
    log_partition,
    log_range,
    record_of,
)
from singerlake.index.storage.dynamodb.place import Place
from singerlake.index.storage.dynamodb.table import Table
from singerlake.index.storage.safe_text import to_safe
from singerlake.lake.feed.bookmark import Bookmark

RUNS = f"{OWN}runs"
LAST = "9" * 41
"""Behind every range key of a log."""


class DynamoDBChange(Change):
    """What it writes is seen at once: a question in between may get a part of it.

    Who dies before the bookmark leaves all of it to be written again, to the same keys.
    """

    def __init__(self, table: Table, tap: str, stream: str, root: str) -> None:
        self._table, self._root = table, root
        self._place = places.read(table, tap, stream)
        self.bookmark = self._place.bookmark
        if self._place.clearing:
            self.clear()

    def clear(self) -> None:
        if not self._place.stream:
            own = _runs_of(self._table, self._place.tap)
            self._table.delete(own)
            return
        new = Place(tap=self._place.tap, stream=self._place.stream, clearing=True)
        places.keep(self._table, new)
        remove(self._table, log_entries(self._table, new), new, self._root)
        self._table.delete(list(self._table.partition(gap_partition(new.key))))
        self._table.drop_latest(_what_where(new))
        self._place = new

    def add(self, entries: Sequence[Entry]) -> None:
        key = self._place.key
        self._table.put(item for entry in entries for item in items_of(entry, self._root, key))
        before, self._place = self._place, self._place.spanning(list(entries))
        if self._place.named and not before.named:
            # From now on a Singer file does not count, however late it begins.
            self._table.drop_latest(_what_where(self._place))
        own = [entry for entry in entries if entry.ordinal > 0 or not self._place.named]
        if own:
            record = record_of(max(own, key=age), self._root)
            self._table.put_latest(_what_where(self._place), record)

    def hold(self, first: int, last: int, holders: Sequence[Holder]) -> None:
        for one in holders:
            span = (one.first_sequence, one.last_sequence)
            changed = [
                msgspec.structs.replace(entry, path=one.path, merged=one.merged)
                for entry in log_entries(self._table, self._place, *span)
                if entry.ordinal == 0
            ]
            key = self._place.key
            self._table.put(item for entry in changed for item in items_of(entry, self._root, key))

    def lose(self, lack: Lack) -> None:
        first, last = lack.first_sequence, lack.last_sequence
        entries = list(log_entries(self._table, self._place, first, last))
        remove(self._table, iter(entries), self._place, self._root)
        if any(entry.ordinal for entry in entries):
            left_over = log_entries(self._table, self._place)
            named = any(entry.ordinal for entry in left_over)
            self._place = msgspec.structs.replace(self._place, named=named)
        kept = [piece for one in gaps(self._table, self._place) for piece in _outside(one, lack)]
        partition = gap_partition(self._place.key)
        self._table.put(_gap_item(partition, one) for one in (*kept, lack))
        left = {log_range(one.first_sequence) for one in (*kept, lack)}
        items = list(self._table.partition(partition))
        self._table.delete(item for item in items if item[RANGE] not in left)

    def end_run(self, run: EndedRun) -> None:
        names = (run.tap, run.run_id, run.writer_id)
        key = "\x1f".join(map(to_safe, names))
        text = msgspec.json.encode([to_safe(name) for name in run.streams]).decode()
        self._table.put(
            [
                {
                    HASH: RUNS,
                    RANGE: key,
                    "outcome": run.outcome,
                    "begun": run.begun,
                    "ended": run.ended,
                    "streams": text,
                }
            ]
        )

    def keep(self, bookmark: Bookmark) -> None:
        self._place = msgspec.structs.replace(self._place, bookmark=bookmark, clearing=False)
        places.keep(self._table, self._place)


def log_entries(
    table: Table, place: Place, first: int = 0, last: int | None = None
) -> Iterator[Entry]:
    """A stream's entries in the order of its log."""
    end = LAST if last is None else f"{log_range(last)[:20]}:~"
    for item in table.range(log_partition(place.key), log_range(first), end):
        yield entry_of(item)


def remove(table: Table, entries: Iterator[Entry], place: Place, root: str) -> None:
    """The items of entries, that in the log last: who dies in between finds the entry again."""
    for entry in list(entries):
        table.delete(items_of(entry, root, place.key))


def gap_partition(key: int) -> str:
    return f"{OWN}gaps:{key}"


def gaps(table: Table, place: Place) -> list[Lack]:
    return [
        Lack(
            place.tap,
            place.stream,
            int(item["first"]),
            int(item["last"]),
            msgspec.json.decode(item["reason"], type=str),
            None if item["time"] is None else int(item["time"]),
        )
        for item in table.partition(gap_partition(place.key))
    ]


def _gap_item(partition: str, lack: Lack) -> Item:
    return {
        HASH: partition,
        RANGE: log_range(lack.first_sequence),
        "first": lack.first_sequence,
        "last": lack.last_sequence,
        "reason": msgspec.json.encode(to_safe(lack.reason)).decode(),
        "time": lack.time,
    }


def _outside(one: Lack, newer: Lack) -> Iterator[Lack]:
    """What is left of a gap beside a newer word about some of its numbers."""
    if one.last_sequence < newer.first_sequence or one.first_sequence > newer.last_sequence:
        yield one
        return
    if one.first_sequence < newer.first_sequence:
        yield msgspec.structs.replace(one, last_sequence=newer.first_sequence - 1)
    if one.last_sequence > newer.last_sequence:
        yield msgspec.structs.replace(one, first_sequence=newer.last_sequence + 1)


def _runs_of(table: Table, tap: str) -> list[Item]:
    begin = f"{to_safe(tap)}\x1f"
    return list(table.range(RUNS, begin, f"{begin}\U0010ffff"))


def _what_where(place: Place) -> str:
    return f"{to_safe(place.stream)}:{to_safe(place.tap)}"
