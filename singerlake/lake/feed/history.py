"""The history of a stream between two bookmarks, as events: what changed, then what is new."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import partial
from itertools import groupby
from typing import cast, get_args

import msgspec

from singerlake.errors import MissingManifest
from singerlake.format import revision as revisions
from singerlake.format.manifest import File, Gap, Manifest
from singerlake.lake import continuation
from singerlake.lake.feed.bookmark import LOST, Bookmark
from singerlake.lake.feed.event import (
    MOST_FILES,
    Committed,
    Event,
    Lost,
    Reason,
    Replaced,
    committed,
)
from singerlake.lake.log import Selection
from singerlake.lake.provenance import committed_rows
from singerlake.lake.snapshot import Snapshot

NO_ROW = "no file of the log bears these numbers, and no gap says why"


def events(snapshot: Snapshot, since: Bookmark | None, until: Bookmark | None) -> Iterator[Event]:
    """See `Increment.events`."""
    if snapshot.by_listing or not snapshot.manifest.log_id:
        if not snapshot.manifest.files:
            return
        raise MissingManifest(
            f"stream {snapshot.keys.stream!r} of {snapshot.keys.tap_id!r} in "
            f"{snapshot.store.url}: only the manifest knows what was committed, and it is missing; "
            "run `singerlake rebuild` first"
        )
    now = snapshot.manifest.revision_number
    read = since or Bookmark(snapshot.manifest.log_id, 0, revision=now)
    if read.revision is not None:
        yield from _changed(snapshot, read, now)
        read = msgspec.structs.replace(read, revision=now)
    last = snapshot.manifest.last_sequence if until is None else until.sequence
    yield from _committed(snapshot, read, last)


def _changed(snapshot: Snapshot, read: Bookmark, now: int) -> Iterator[Event]:
    """Changes of rows that were read: those that the manifest knows, or all rows once more."""
    seen = read.revision or 0
    if seen == now or not read.sequence:
        return
    known = revisions.since(snapshot.manifest.revisions, seen)
    if known is None:
        whole = msgspec.structs.replace(read, revision=now)
        yield from _lost(snapshot, read, read, 1, read.sequence)
        yield from _replaced(snapshot, read, whole, 1, read.sequence, "unknown", None)
        return
    before = read
    for one in known:
        place = msgspec.structs.replace(read, revision=one.number)
        last = min(one.last_sequence, read.sequence)
        if one.first_sequence > last:
            continue
        if one.kind == "lost":
            yield from _lost(snapshot, before, place, one.first_sequence, last)
        else:
            reason = cast(Reason, one.kind if one.kind in get_args(Reason) else "unknown")
            yield from _replaced(
                snapshot, before, place, one.first_sequence, last, reason, one.time
            )
        before = place


def _replaced(
    snapshot: Snapshot,
    before: Bookmark,
    after: Bookmark,
    first: int,
    last: int,
    reason: Reason,
    time: datetime | None,
) -> Iterator[Replaced]:
    """The rows of a range. Only the last event has the new bookmark: a consumer that stops before
    gets all of them again."""

    def event(files: list[File], end: int, place: Bookmark) -> Replaced:
        return Replaced(
            tap=snapshot.keys.tap_id,
            stream=snapshot.keys.stream,
            bookmark=place,
            first_sequence=first,
            last_sequence=end,
            files=tuple(files),
            reason=reason,
            time=time,
        )

    files: list[File] = []
    for file in snapshot.files(Selection(since=first - 1, until=last)):
        if len(files) == MOST_FILES:
            end = min(file.lowest_sequence - 1, last)
            yield event(files, end, before)
            first, files = end + 1, []
        files.append(file)
    yield event(files, last, after)


def _lost(
    snapshot: Snapshot, before: Bookmark, after: Bookmark, first: int, last: int
) -> Iterator[Lost]:
    """The gaps in a range of numbers that were read."""
    gaps = [gap for gap in snapshot.manifest.gaps if first <= gap.last_sequence]
    found = [gap for gap in gaps if gap.first_sequence <= last]
    for number, gap in enumerate(found, start=1):
        place = after if number == len(found) else before
        yield _gap(
            snapshot, gap, max(gap.first_sequence, first), min(gap.last_sequence, last), place
        )


def _gap(snapshot: Snapshot, gap: Gap, first: int, last: int, place: Bookmark) -> Lost:
    return Lost(
        tap=snapshot.keys.tap_id,
        stream=snapshot.keys.stream,
        bookmark=place,
        first_sequence=first,
        last_sequence=last,
        reason=gap.reason,
        time=gap.recorded,
    )


def _committed(snapshot: Snapshot, read: Bookmark, last: int) -> Iterator[Event]:
    """Every number above the bookmark, in order: in a commit, or lost."""
    wanted = Selection(since=read.sequence, until=last)
    files = snapshot.files(wanted)
    rows = filter(
        wanted.may_hold, committed_rows(snapshot.store, snapshot.keys, files, strict=True)
    )
    reached, pending = read.sequence, None
    for key, group in groupby(rows, key=partial(_commit_of, snapshot.manifest)):
        for row in group:
            first = max(row.lowest_sequence, reached + 1)
            if row.sequence < first:
                continue  # a damaged log bears a number twice; `check` reports it
            row = _cut(row, first, min(row.sequence, last))
            if pending is not None and pending.takes(key, row):
                pending.files.append(row)
                reached = row.sequence
                continue
            if pending is not None:
                yield pending.event(snapshot, read, continues=pending.key == key)
                pending = None
            yield from _missing(snapshot, read, reached + 1, first - 1)
            pending, reached = _Pending(key, [row]), row.sequence
    if pending is not None:
        yield pending.event(snapshot, read, continues=False)
    yield from _missing(snapshot, read, reached + 1, last)


_Commit = tuple[datetime, str, str, bool, str]


def _commit_of(manifest: Manifest, row: File) -> _Commit:
    """What the rows of one commit share."""
    origin = continuation.origin_log_id(manifest, row.sequence)
    return row.committed, row.writer_id, row.run_id, row.merge is not None, origin


def _cut(row: File, first: int, last: int) -> File:
    """A row that stands for several numbers, with these of them."""
    if (row.lowest_sequence, row.sequence) == (first, last):
        return row
    merge = row.merge
    if merge is not None and last < row.sequence:
        merge = msgspec.structs.replace(merge, check="")
    return msgspec.structs.replace(
        row, first_sequence=first if first < last else 0, sequence=last, merge=merge
    )


class _Pending:
    """Rows of one commit that follow each other, until something else comes."""

    def __init__(self, key: _Commit, files: list[File]) -> None:
        self.key, self.files = key, files

    def takes(self, key: _Commit, row: File) -> bool:
        follows = row.lowest_sequence == self.files[-1].sequence + 1
        forgotten = row.merge is not None
        return key == self.key and follows and not forgotten and len(self.files) < MOST_FILES

    def event(self, snapshot: Snapshot, read: Bookmark, continues: bool) -> Committed:
        keys, manifest = snapshot.keys, snapshot.manifest
        return committed(keys, manifest, self.files, read.revision, continues=continues)


def _missing(snapshot: Snapshot, read: Bookmark, first: int, last: int) -> Iterator[Lost]:
    """Why no file bears these numbers, if there are any."""
    if first > last:
        return
    for gap in snapshot.manifest.gaps:
        if gap.last_sequence < first or gap.first_sequence > last:
            continue
        if gap.first_sequence > first:
            yield _without_row(snapshot, read, first, gap.first_sequence - 1)
        end = min(gap.last_sequence, last)
        begin = max(gap.first_sequence, first)
        yield _gap(snapshot, gap, begin, end, Bookmark(read.log_id, end, LOST, read.revision))
        first = end + 1
    if first <= last:
        yield _without_row(snapshot, read, first, last)


def _without_row(snapshot: Snapshot, read: Bookmark, first: int, last: int) -> Lost:
    gap = Gap(
        first_sequence=first,
        last_sequence=last,
        reason=NO_ROW,
        recorded=snapshot.manifest.commit.time,
    )
    return _gap(snapshot, gap, first, last, Bookmark(read.log_id, last, LOST, read.revision))
