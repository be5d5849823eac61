"""Compare an index with its lake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal

import msgspec

from singerlake.errors import SingerlakeError
from singerlake.index.commit import NamedFiles
from singerlake.index.entry import Entry
from singerlake.index.named import LakeFiles
from singerlake.index.query import Query
from singerlake.index.scan import covered, entries_in, has_log
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake, Stream

Kind = Literal["behind", "missing", "extra", "different", "unreadable", "gone", "other-lake"]

OnStream = Callable[[str, str], None]


class Finding(msgspec.Struct, frozen=True):
    """What an index has otherwise than its lake. To be `behind` is no damage: follow it."""

    kind: Kind
    tap: str
    stream: str
    text: str


def check_index(
    storage: Storage,
    lake: Lake,
    on_stream: OnStream | None = None,
    named_files: NamedFiles | None = None,
) -> Iterator[Finding]:
    """Every difference, stream by stream, in the memory of a few entries."""
    lake_id = lake.lake_id() or storage.lake_id or ""
    if storage.lake_id not in (None, lake_id):
        text = f"the index is of the lake {storage.lake_id}, and this lake is {lake_id}"
        yield Finding("other-lake", "", "", text)
        return
    failures: list[Finding] = []
    named_files = named_files or LakeFiles(lake.store)

    def fail(tap: str, stream: str, error: SingerlakeError) -> None:
        failures.append(Finding("unreadable", tap, stream, f"{type(error).__name__}: {error}"))

    streams = {(one.tap_id, one.name): one for one in covered(lake, Query(), fail)}
    unlisted = {names: lake.stream(*names) for names in storage.streams() if names not in streams}
    for stream in (*streams.values(), *unlisted.values()):
        try:
            if not has_log(stream) and any(storage.entries(stream.tap_id, stream.name)):
                text = "the index has a stream of which the lake has nothing"
                yield Finding("gone", stream.tap_id, stream.name, text)
                continue
            yield from _differences(storage, stream, lake_id, named_files)
        except SingerlakeError as error:
            fail(stream.tap_id, stream.name, error)
        if on_stream is not None:
            on_stream(stream.tap_id, stream.name)
    yield from failures


def _differences(
    storage: Storage, stream: Stream, lake_id: str, named_files: NamedFiles
) -> Iterator[Finding]:
    """Both are in the order of the log: one pass over both."""
    tap, name = stream.tap_id, stream.name
    place = storage.cursor().bookmarks.get((tap, name))
    read = 0 if place is None else place.sequence
    behind, is_known = 0, False
    indexed = storage.entries(tap, name)
    there = next(indexed, None)
    for entry in entries_in(stream, lake_id, named_files):
        if not is_known and place is not None and place.log_id:
            is_known = stream.snapshot().knows(place.log_id, place.sequence)
            if not is_known:
                yield Finding("behind", tap, name, "the stream was numbered anew since")
                return
        if entry.sequence > read:
            behind += 1
            continue
        while there is not None and _number(there) < _number(entry):
            yield Finding("extra", tap, name, f"{_named(there)} is in the index only")
            there = next(indexed, None)
        if there is None or _number(there) > _number(entry):
            yield Finding("missing", tap, name, f"{_named(entry)} is in the lake only")
            continue
        if there != entry:
            yield Finding("different", tap, name, f"{_named(entry)}: {_difference(there, entry)}")
        there = next(indexed, None)
    while there is not None:
        yield Finding("extra", tap, name, f"{_named(there)} is in the index only")
        there = next(indexed, None)
    if behind:
        yield Finding("behind", tap, name, f"{behind} entries are not indexed yet")


def _number(entry: Entry) -> tuple[int, int]:
    return entry.sequence, entry.ordinal


def _named(entry: Entry) -> str:
    return f"entry {entry.id} (sequence {entry.sequence}, ordinal {entry.ordinal})"


def _difference(index: Entry, lake: Entry) -> str:
    pairs = zip(index.__struct_fields__, msgspec.structs.astuple(index), strict=True)
    others = msgspec.structs.astuple(lake)
    return ", ".join(
        f"{name} is {value!r}, expected {other!r}"
        for (name, value), other in zip(pairs, others, strict=True)
        if value != other
    )
