"""Logs that are shorter than something proves, or other: an older manifest was put in their place.

What proves it are the copy of the manifest, which is only ever replaced by a later one, and the
places of readers that the lake keeps: pins, and the cursors of consumers. That orphans lie there
proves nothing: those of interrupted commits look the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import msgspec

from singerlake.errors import CorruptDocument, NotFound, StaleBookmark, StaleSnapshot
from singerlake.format import keys as key_names
from singerlake.format.consumer_keys import FOLDER, ConsumerObject, consumer
from singerlake.format.keys import ROOT, StreamKeys
from singerlake.format.manifest import File, Manifest, Segment
from singerlake.format.pin import Pin
from singerlake.lake import continuation, log, pins, provenance
from singerlake.lake.feed import position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor, StreamKey
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store


@dataclass(frozen=True)
class Place:
    """Where a reader of a stream stands, who that is, and since when, where that is known."""

    who: str
    bookmark: Bookmark
    since: datetime | None = None


LAST = 2**53
"""No sequence number is above it."""

Places = dict[StreamKey, list[Place]]


@dataclass(frozen=True)
class Shortened:
    """A log is not what it was: `reason` says what proves it, and up to `up_to` nothing speaks
    against it. `rows` are those that the copy has behind the log, which then ends at `up_to`."""

    reason: str
    up_to: int
    copy: Manifest | None = None
    rows: tuple[File, ...] = ()


def places(store: Store) -> Places:
    """The places that pins and consumers have in the lake; what cannot be read proves nothing."""
    found: Places = {}
    for name, pin in pins.read_each(store):
        if isinstance(pin, Pin):
            for name_of_stream, bookmark in pins.cursor(pin).bookmarks.items():
                place = Place(f"the pin {name!r}", bookmark, pin.created)
                found.setdefault(name_of_stream, []).append(place)
    for name in _consumers(store):
        key = consumer(name)
        try:
            cursor = Cursor.decode(store.read(key).data, f"{store.url}/{key}")
        except (NotFound, CorruptDocument, StaleBookmark):
            continue
        for name_of_stream, bookmark in cursor.bookmarks.items():
            place = Place(f"the consumer {name!r}", bookmark)
            found.setdefault(name_of_stream, []).append(place)
    return found


def _consumers(store: Store) -> list[str]:
    listed = (key_names.parse(row.key) for row in store.list_folder(f"{ROOT}/{FOLDER}", ""))
    return [item.name for item in listed if isinstance(item, ConsumerObject)]


def find(
    store: Store,
    keys: StreamKeys,
    manifest: Manifest,
    files: Sequence[File],
    copy: Manifest | None,
    places: Iterable[Place] = (),
) -> Shortened | None:
    """What proves that a log, of which these are all files, is shorter than it was, or other; None
    where nothing does.

    The copy of the manifest and the places must have been read before the manifest, or they are of
    commits that came since.
    """
    found = [] if copy is None else [*_by_copy(store, keys, manifest, files, copy)]
    for place in places:
        found += _by_place(Snapshot(store, keys, manifest), files, place)
    if not found:
        return None
    lowest = min(found, key=lambda one: one.up_to)
    by_copy = next((one for one in found if one.copy is not None), None)
    if by_copy is None or lowest.up_to < by_copy.up_to:
        return lowest
    return by_copy


def _by_copy(
    store: Store, keys: StreamKeys, manifest: Manifest, files: Sequence[File], copy: Manifest
) -> Iterator[Shortened]:
    common = continuation.common(copy, manifest.log_id)
    if common == 0:
        return  # of another log
    shared = {*copy.segments} & {*manifest.segments}
    others = tuple(segment for segment in copy.segments if segment not in shared)
    try:
        rows = tuple(log.files(store, keys, msgspec.structs.replace(copy, segments=others)))
    except (CorruptDocument, StaleSnapshot):
        rows = copy.files  # a purge has removed its segments
    ends = min(copy.last_sequence, manifest.last_sequence)
    same = min(_agreed(store, keys, rows, list(_outside(files, shared))), ends)
    agreed = same if common is None else min(same, common)
    if common is None and agreed == copy.last_sequence:
        return
    behind = tuple(row for row in rows if row.lowest_sequence > manifest.last_sequence)
    is_shorter = agreed == manifest.last_sequence
    what = f"ends at {agreed}" if is_shorter else f"has other commits behind {agreed}"
    reason = f"{keys.manifest_copy} has the log up to {copy.last_sequence}, and the manifest {what}"
    yield Shortened(reason, agreed, copy, behind)


def _outside(files: Iterable[File], segments: Iterable[Segment]) -> Iterator[File]:
    """The files of a log whose rows are in none of these segments."""
    ends = sorted((segment.last_sequence, segment.first_sequence) for segment in segments)
    at = 0
    for file in files:
        while at < len(ends) and ends[at][0] < file.sequence:
            at += 1
        if at == len(ends) or file.sequence < ends[at][1]:
            yield file


def _agreed(store: Store, keys: StreamKeys, some: Sequence[File], others: Sequence[File]) -> int:
    """The last number before the first that stands for two commits; no merge changes that.

    Of one path there is one file: a row that says otherwise was edited, or is of an older name.
    """
    rows = {row.sequence: row for row in some}
    same = {row.sequence for row in others if rows.get(row.sequence) == row}
    left = [row for row in some if row.sequence not in same]
    right = [row for row in others if row.sequence not in same]
    known = {row.sequence: row for row in provenance.committed_rows(store, keys, left)}
    for row in provenance.committed_rows(store, keys, right):
        before = known.get(row.sequence, row)
        if before.path != row.path and before.check and row.check and before.check != row.check:
            return row.lowest_sequence - 1
    return LAST


def _by_place(snapshot: Snapshot, files: Sequence[File], place: Place) -> Iterator[Shortened]:
    """A place of this log that it does not have; of one that has been begun anew, it may well be
    without those behind."""
    read, manifest = place.bookmark, snapshot.manifest
    if read.log_id != manifest.log_id:
        return
    if read.sequence > manifest.last_sequence:
        reason = (
            f"{place.who} has read the log up to {read.sequence}, and the manifest ends at "
            f"{manifest.last_sequence}"
        )
        later = (one for one in files if place.since is not None and one.committed > place.since)
        # What was committed after the log was longer has numbers that others had.
        first = min((one.lowest_sequence for one in later), default=manifest.last_sequence + 1)
        yield Shortened(reason, first - 1)
        return
    try:
        position.require(snapshot, read)
    except (CorruptDocument, StaleSnapshot):
        return  # what tells which commit it is cannot be read: nothing is known of it
    except StaleBookmark as error:
        yield Shortened(f"{place.who}: {error}", 0)
