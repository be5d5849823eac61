"""The log of a tap's runs in the store: its head, and the segments behind it."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format import document, run_log
from singerlake.format.run_keys import RunKeys, segment_path
from singerlake.format.run_log import Row, RunLog, Segment, SegmentContent
from singerlake.lake.commit import create_anew
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store

FEW = 4
"""Segments that are read one by one, so that a reader that stops early has read no more."""


@dataclass(frozen=True)
class Head:
    """A log, and the version of the object that a change must still find; None: there is none."""

    log: RunLog
    version: str | None


def new(keys: RunKeys) -> RunLog:
    return RunLog(tap_id=keys.tap_id, log_id=uuid.uuid4().hex, commit_id=new_commit_id())


def new_commit_id() -> str:
    return uuid.uuid4().hex


def read_head(store: Store, keys: RunKeys) -> Head:
    """The log as it is now, by one request. Raises `NotFound` and `CorruptDocument`."""
    stored = store.read(keys.log)
    return Head(decode(store, keys, stored.data), stored.version)


def decode(store: Store, keys: RunKeys, data: bytes) -> RunLog:
    """The log from its bytes. Raises `CorruptDocument`."""
    where = f"{store.url}/{keys.log}"
    log = run_log.decode(data, where)
    if log.tap_id != keys.tap_id:
        raise CorruptDocument(
            f"{where}: expected the run log of {keys.tap_id!r}, found that of {log.tap_id!r}; put "
            "it back where it belongs, then run `singerlake rebuild`"
        )
    return log


def read_or_new(store: Store, keys: RunKeys) -> Head:
    """The log as it is now, or an empty one that is not in the store yet."""
    try:
        return read_head(store, keys)
    except NotFound:
        return Head(new(keys), None)


def rows(store: Store, keys: RunKeys, log: RunLog, after: int = 0) -> Iterator[Row]:
    """The rows whose numbers are above `after`, in order; reads only segments that hold some."""
    yield from _in_segments(store, keys, log.segments, after)
    yield from (row for row in log.rows if row.number > after)


def newest_rows(store: Store, keys: RunKeys, log: RunLog) -> Iterator[Row]:
    """All rows, the newest first; a segment is read when its turn comes."""
    yield from reversed(log.rows)
    waiting = list(log.segments)
    while waiting:
        content = read_segment(store, keys, waiting.pop())
        waiting += content.segments
        yield from reversed(content.rows)


def _in_segments(
    store: Store, keys: RunKeys, segments: Iterable[Segment], after: int
) -> Iterator[Row]:
    wanted = [segment for segment in segments if segment.last_number > after]
    read = partial(read_segment, store, keys)
    for content in in_parallel(read, wanted) if len(wanted) > FEW else map(read, wanted):
        yield from _in_segments(store, keys, content.segments, after)
        yield from (row for row in content.rows if row.number > after)


def read_segment(store: Store, keys: RunKeys, segment: Segment) -> SegmentContent:
    """A segment's rows. Raises `CorruptDocument` where it is gone or is not what was sealed."""
    key = keys.under(segment.path)
    where = f"{store.url}/{key}"
    try:
        data = store.read(key).data
    except NotFound:
        raise CorruptDocument(
            f"{where}: the run log names this segment, and it is not there; `singerlake rebuild` "
            "makes the log again from the documents of the runs"
        ) from None
    if checksum(data) != segment.checksum:
        raise CorruptDocument(
            f"{where}: expected the checksum {segment.checksum}, found {checksum(data)}; "
            "`singerlake rebuild` makes the log again from the documents of the runs"
        )
    content = run_log.decode_segment(data, where)
    if not all(row.level < segment.level for row in content.segments):
        raise document.corrupt(run_log.SEGMENT_KIND, where, "segments of a level like its own")
    return content


def segment_paths(store: Store, keys: RunKeys, log: RunLog) -> Iterator[str]:
    """The paths of every segment that the log reaches."""
    waiting = list(log.segments)
    while waiting:
        segment = waiting.pop()
        yield segment.path
        if segment.level > 1:
            waiting += read_segment(store, keys, segment).segments


def seal(store: Store, keys: RunKeys, log: RunLog) -> tuple[RunLog, list[str]]:
    """Move the oldest rows to segments, until the log is small; returns the new paths too."""
    paths = []
    while (due := run_log.due_seal(log)) is not None:
        data = document.encode(due.content)
        row = due.segment("", checksum(data))
        unique = uuid.uuid4().hex[:8]
        path = segment_path(row.level, row.first_number, row.last_number, unique)
        create_anew(store, keys.under(path), data)
        paths.append(path)
        log = run_log.sealed(log, due, due.segment(path, checksum(data)))
    return log, paths


def checksum(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()
