"""Events: what a feed reports about streams and runs.

Each carries the bookmark that a consumer stores in the same transaction as its effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from singerlake.format import continued
from singerlake.format.continued import Continued
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest
from singerlake.format.run import Outcome, RunStream
from singerlake.lake.feed.bookmark import Bookmark

MOST_FILES = 1000
"""How many files one event has: a rebuild can make one commit of a million."""

Reason = Literal["vacuum", "erase", "unknown"]


class Event(msgspec.Struct, frozen=True, kw_only=True, tag_field="event"):
    """`stream` is "" where an event is about a tap's runs, and `tap` too where it is about the
    lake."""

    tap: str
    stream: str
    bookmark: Bookmark


class Committed(Event, frozen=True, kw_only=True, tag="committed"):
    """One commit, or a part of it: `continues` says that the commit goes on in the next event.

    `time` is the writer's clock: for people, never for order. `files` has a row for each file as it
    was committed; `path` is the file that holds its lines now, which after a vacuum is a merged
    one. `versions` has the number of each schema version by its hash. Where an older vacuum forgot
    what it merged, one row stands for all of its numbers, and writer, run, records and bytes are
    None. `continued` has the older logs that the bookmark's log goes on from, and how far.
    """

    first_sequence: int
    last_sequence: int
    time: datetime
    writer_id: str | None
    run_id: str | None
    versions: Mapping[str, int]
    records: int | None
    bytes: int | None
    files: tuple[File, ...]
    continues: bool = False
    continued: tuple[Continued, ...] = ()

    @property
    def log_id(self) -> str:
        """The log in which these numbers were first given out, by which a commit is named for ever:
        the bookmark's, or one of those that it goes on from."""
        return continued.origin(self.continued, self.last_sequence) or self.bookmark.log_id


def committed(
    keys: StreamKeys,
    manifest: Manifest,
    files: Sequence[File],
    revision: int | None = None,
    *,
    continues: bool = False,
) -> Committed:
    """The event of these rows, which are of one commit and follow each other."""
    first, last = files[0], files[-1]
    known = last.merge is None
    counted = known and all(file.records >= 0 for file in files)
    hashes = dict.fromkeys(file.schema_hash for file in files)
    versions = manifest.versions
    return Committed(
        tap=keys.tap_id,
        stream=keys.stream,
        bookmark=Bookmark(manifest.log_id, last.sequence, last.check, revision),
        first_sequence=first.lowest_sequence,
        last_sequence=last.sequence,
        time=last.committed,
        writer_id=last.writer_id if known else None,
        run_id=last.run_id if known else None,
        versions={each: versions[each].version for each in hashes if each in versions},
        records=sum(file.records for file in files) if counted else None,
        bytes=sum(file.bytes for file in files) if known else None,
        files=tuple(files),
        continues=continues and known,
        continued=manifest.continues,
    )


class Replaced(Event, frozen=True, kw_only=True, tag="replaced"):
    """These rows hold the numbers of this range from now on. Idempotent: it may come again.

    No record changed by a `vacuum`. After `unknown`, ask again for whatever was kept about the
    range. `time` is None where nobody knows when it happened.
    """

    first_sequence: int
    last_sequence: int
    files: tuple[File, ...]
    reason: Reason
    time: datetime | None


class Renumbered(Event, frozen=True, kw_only=True, tag="renumbered"):
    """The log has a new id, and numbers that were read mean something else by now. The bookmark is
    before its first number: go on from there, or stop."""

    old_log_id: str


class Lost(Event, frozen=True, kw_only=True, tag="lost"):
    """No file bears these numbers any more, and their records are gone from the lake."""

    first_sequence: int
    last_sequence: int
    reason: str
    time: datetime


class RunEnded(Event, frozen=True, kw_only=True, tag="run-ended"):
    """A run of a tap ended; its commits came before. `streams` is what it left in each.

    `corrects` says that somebody corrected the outcome of a run whose end was reported before.
    """

    run_id: str
    writer_id: str
    outcome: Outcome
    begun: datetime
    ended: datetime
    streams: Mapping[str, RunStream]
    reason: str = ""
    corrects: bool = False


class Failed(Event, frozen=True, kw_only=True, tag="failed"):
    """A stream, or a tap's catalogue or runs, cannot be read now. The bookmark does not move, and
    the others go on. Given again when the error is another.

    `kind` is the error's class, such as CorruptDocument, MissingManifest or StaleBookmark.
    """

    error: str
    kind: str
