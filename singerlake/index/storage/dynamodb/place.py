"""Where an index in DynamoDB stands: an item for each stream, for each tap, and for the lake."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import msgspec

from singerlake.index.entry import Entry
from singerlake.index.query import stream_key
from singerlake.index.storage.dynamodb.item import HASH, OWN, RANGE, Item, day_of
from singerlake.index.storage.dynamodb.table import Table
from singerlake.lake.feed.bookmark import Bookmark

STREAMS, TAPS, FACTS = f"{OWN}streams", f"{OWN}taps", f"{OWN}facts"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """A stream, or a tap's runs. `first_day` and `last_day` are those on which files begin.

    `named` says that its records name files of any kind.

    `clearing` says that entries are being removed: who finds it so goes on with that.
    """

    tap: str
    stream: str = ""
    uploads: bool = False
    bookmark: Bookmark | None = None
    first_day: int | None = None
    last_day: int | None = None
    named: bool = False
    clearing: bool = False

    @property
    def key(self) -> int:
        return stream_key(self.tap, self.stream, self.uploads)

    def spanning(self, entries: list[Entry]) -> Place:
        """The place with these entries too."""
        days = [day_of(entry.start) for entry in entries]
        days += [day for day in (self.first_day, self.last_day) if day is not None]
        if not days:
            return self
        named = self.named or any(entry.ordinal > 0 for entry in entries)
        return msgspec.structs.replace(self, first_day=min(days), last_day=max(days), named=named)


def read(table: Table, tap: str, stream: str, uploads: bool = False) -> Place:
    """The place of a stream, or of a tap's runs; a new one where there is none."""
    new = Place(tap=tap, stream=stream, uploads=uploads)
    found = table.get(STREAMS if stream else TAPS, str(new.key))
    return new if found is None else _place(found)


def keep(table: Table, place: Place) -> None:
    text = json.dumps(msgspec.to_builtins(place))
    partition = STREAMS if place.stream else TAPS
    table.put([{HASH: partition, RANGE: str(place.key), "place": text}])


def drop(table: Table, place: Place) -> None:
    table.delete([{HASH: STREAMS, RANGE: str(place.key)}])


def every(table: Table, partition: str) -> Iterator[Place]:
    return map(_place, table.partition(partition))


def _place(item: Item) -> Place:
    body: Any = json.loads(item["place"])
    return msgspec.convert(body, Place)
