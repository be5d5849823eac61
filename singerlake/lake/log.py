"""A stream's commit log in the store: the manifest at its head, and the segments behind it."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from operator import itemgetter

from singerlake.errors import (
    BadName,
    CorruptDocument,
    NotFound,
    SingerlakeError,
    StaleSnapshot,
)
from singerlake.format import document, times
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest, Segment, SegmentContent, Totals
from singerlake.lake import continuation
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store


@dataclass(frozen=True)
class Head:
    """A manifest, and the version of the object that a commit must still find there."""

    manifest: Manifest
    version: str


@dataclass(frozen=True)
class Selection:
    """Which files of a log to give. Whole segments that hold none of them are not read.

    `since` and `until` are sequence numbers, after and up to; `numbers` are ranges of sequence
    numbers, first and last, in order and apart from each other, None for all. `start` and `end` are
    times of records, from and before. A time without a zone is taken to be UTC, as in a record.
    """

    since: int = 0
    until: int | None = None
    start: datetime | None = None
    end: datetime | None = None
    schema_hashes: Collection[str] | None = None
    numbers: tuple[tuple[int, int], ...] | None = None

    def __post_init__(self) -> None:
        for name in ("start", "end"):
            moment = getattr(self, name)
            if moment is not None and moment.tzinfo is None:
                object.__setattr__(self, name, times.in_utc(moment))

    def may_hold(self, row: File | Segment) -> bool:
        if isinstance(row, File):
            lowest, highest = row.lowest_sequence, row.sequence
            if self.schema_hashes is not None and row.schema_hash not in self.schema_hashes:
                return False
        else:
            lowest, highest = row.first_sequence, row.last_sequence
        return (
            highest > self.since
            and (self.until is None or lowest <= self.until)
            and self._is_among_numbers(lowest, highest)
            and (self.start is None or row.last >= self.start)
            and (self.end is None or row.first < self.end)
        )

    def holds_all_of(self, file: File) -> bool:
        """Whether every sequence number of a file that may hold some is selected."""
        return (
            file.lowest_sequence > self.since
            and (self.until is None or file.sequence <= self.until)
            and self._is_among_numbers(file.lowest_sequence, file.sequence, whole=True)
        )

    def holds(self, sequence: int) -> bool:
        """Whether a sequence number is selected."""
        return (
            sequence > self.since
            and (self.until is None or sequence <= self.until)
            and self._is_among_numbers(sequence, sequence)
        )

    def _is_among_numbers(self, lowest: int, highest: int, whole: bool = False) -> bool:
        """Whether a range of `numbers` has one of these, or all of them."""
        if self.numbers is None:
            return True
        # The first range that does not end before `lowest`.
        at = bisect_left(self.numbers, lowest, key=itemgetter(1))
        if at == len(self.numbers):
            return False
        first, last = self.numbers[at]
        return first <= lowest and highest <= last if whole else first <= highest


EVERYTHING = Selection()

FEW = 4
"""Segments that are read one by one: a reader that stops early has then read no more than these."""


def read_head(store: Store, keys: StreamKeys) -> Head:
    """The stream's manifest as it is now. Raises `NotFound` and `CorruptDocument`."""
    stored = store.read(keys.manifest)
    return Head(decode(store, keys, stored.data), stored.version)


def decode(store: Store, keys: StreamKeys, data: bytes) -> Manifest:
    """The stream's manifest from its bytes. Raises `CorruptDocument`."""
    where = f"{store.url}/{keys.manifest}"
    manifest = manifests.decode(data, where)
    if (manifest.tap_id, manifest.stream) != (keys.tap_id, keys.stream):
        raise CorruptDocument(
            f"{where}: expected the manifest of stream {keys.stream!r} of {keys.tap_id!r}, found "
            f"that of {manifest.stream!r} of {manifest.tap_id!r}; put it back where it belongs, "
            "then run `singerlake rebuild`"
        )
    return manifest


def totals(store: Store, keys: StreamKeys) -> Totals:
    """What the log adds up to, by one request. Raises as `read_head` does."""
    return manifests.totals(read_head(store, keys).manifest)


def behind(
    store: Store, keys: StreamKeys, manifest: Manifest, log_id: str, sequence: int
) -> Selection:
    """Where in the log files can be that came after this place: anywhere, in another log that
    this one does not continue so far.

    Raises `CorruptDocument` for a log that does not reach so far any more. A put without a
    condition that arrives late, or a backup, can bring an older manifest back: what was committed
    behind it is still in the store, but to go on from there would hide that.
    """
    if not continuation.is_known(manifest, log_id, sequence):
        return EVERYTHING
    if manifest.last_sequence < sequence:
        raise CorruptDocument(
            f"{store.url}/{keys.manifest}: expected a log up to sequence {sequence} or more, found "
            f"that it ends at {manifest.last_sequence}: an older manifest was put in its place. "
            "Run `singerlake check --fix`, which adds the files that it does not name, then run "
            "this again"
        )
    return Selection(since=sequence)


def files(
    store: Store, keys: StreamKeys, manifest: Manifest, selection: Selection = EVERYTHING
) -> Iterator[File]:
    """The selected files in commit order, reading the segments that may hold some."""
    yield from _in_segments(store, keys, manifest.segments, selection, set())
    yield from filter(selection.may_hold, manifest.files)


def _in_segments(
    store: Store,
    keys: StreamKeys,
    segments: Iterable[Segment],
    selection: Selection,
    seen: set[str],
) -> Iterator[File]:
    wanted = list(filter(selection.may_hold, segments))
    for segment in wanted:
        _require_new(store, keys, segment, seen)
    read = partial(read_segment, store, keys)
    for content in in_parallel(read, wanted) if len(wanted) > FEW else map(read, wanted):
        yield from _in_segments(store, keys, content.segments, selection, seen)
        yield from filter(selection.may_hold, content.files)


def _require_new(store: Store, keys: StreamKeys, segment: Segment, seen: set[str]) -> None:
    """A few segments that name each other many times would be read without end."""
    if segment.path in seen:
        where = f"{store.url}/{keys.manifest}"
        raise document.corrupt(manifests.KIND, where, f"{segment.path!r} named more than once")
    seen.add(segment.path)


def read_segment(store: Store, keys: StreamKeys, segment: Segment) -> SegmentContent:
    """A segment's rows. Raises `CorruptDocument` where it is gone or is not what was sealed."""
    key = keys.under(segment.path)
    where = f"{store.url}/{key}"
    try:
        data = store.read(key).data
    except BadName:
        raise document.corrupt(
            manifests.KIND, f"{store.url}/{keys.manifest}", f"the path {segment.path!r}"
        ) from None
    except NotFound:
        raise _gone(store, keys, segment, where) from None
    if checksum(data) != segment.checksum:
        raise CorruptDocument(
            f"{where}: expected the checksum {segment.checksum}, found {checksum(data)}; "
            "`singerlake rebuild` makes the manifest again from the files"
        )
    content = manifests.decode_segment(data, where)
    if not all(row.level < segment.level for row in content.segments):
        raise document.corrupt(manifests.SEGMENT_KIND, where, "segments of a level like its own")
    return content


def _gone(store: Store, keys: StreamKeys, segment: Segment, where: str) -> SingerlakeError:
    """What is wrong where a segment is not there: the reader was overtaken, or the log is lost."""
    try:
        now = read_head(store, keys).manifest.segments
    except (NotFound, CorruptDocument):
        now = (segment,)
    # A segment of a higher level may have come to hold it: then nothing explains that it is gone.
    if not any(row.path == segment.path or row.level > segment.level for row in now):
        return StaleSnapshot(
            f"{where}: this segment is not there any more, and the log does without it: a vacuum "
            "or a rebuild has written the log anew since this read began. Nothing is lost: run it "
            "again"
        )
    return CorruptDocument(
        f"{where}: the manifest names this segment, and it is not there; `singerlake rebuild` "
        "makes the manifest again from the files"
    )


def segment_paths(store: Store, keys: StreamKeys, manifest: Manifest) -> Iterator[str]:
    """The paths of every segment that the manifest reaches."""
    waiting = list(manifest.segments)
    seen: set[str] = set()
    while waiting:
        segment = waiting.pop()
        _require_new(store, keys, segment, seen)
        yield segment.path
        if segment.level > 1:
            waiting.extend(read_segment(store, keys, segment).segments)


def checksum(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
