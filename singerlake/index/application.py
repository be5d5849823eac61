"""What events of one stream change in an index."""

from __future__ import annotations

from singerlake.format.manifest import File
from singerlake.index.commit import NamedFiles, entries_of
from singerlake.index.entry import entry_ids, micros
from singerlake.index.storage.base import Change, EndedRun, Holder, Lack
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.event import (
    Committed,
    Event,
    Lost,
    Renumbered,
    Replaced,
    RunEnded,
)
from singerlake.lake.feed.history import NO_ROW


class Application:
    """Applies events to a change, which nobody else sees before it is over."""

    def __init__(self, change: Change, lake_id: str, named_files: NamedFiles) -> None:
        self._change, self._lake_id, self._named_files = change, lake_id, named_files
        self.bookmark: Bookmark = change.bookmark or START
        self.entries = 0
        self.has_begun = False
        self.is_anew = False
        """Whether the stream is numbered anew: then all of it belongs into one transaction."""

    def apply(self, event: Event) -> None:
        self.has_begun = True
        match event:
            case Committed():
                self._commit(event)
            case Replaced():
                self._change.hold(
                    event.first_sequence,
                    event.last_sequence,
                    [_holder(file, event) for file in event.files],
                )
            case Lost():
                self._change.lose(_lack(event))
            case RunEnded():
                self._change.end_run(_ended_run(event))
            case Renumbered():
                self._change.clear()
                self.is_anew = True
        self.bookmark = event.bookmark

    def _commit(self, event: Committed) -> None:
        ids = entry_ids(self._lake_id, event.tap, event.stream, event.log_id)
        entries = list(entries_of(event, ids, self._named_files))
        self._change.add(entries)
        self.entries += len(entries)


def _holder(file: File, event: Replaced) -> Holder:
    first = max(file.lowest_sequence, event.first_sequence)
    last = min(file.sequence, event.last_sequence)
    return Holder(first, last, file.path, file.merge is not None)


def _lack(event: Lost) -> Lack:
    # The feed gives numbers without any word the time of the manifest, which is always another.
    time = None if event.reason == NO_ROW else micros(event.time)
    return Lack(
        event.tap, event.stream, event.first_sequence, event.last_sequence, event.reason, time
    )


def _ended_run(event: RunEnded) -> EndedRun:
    return EndedRun(
        event.tap,
        event.run_id,
        event.writer_id,
        event.outcome,
        micros(event.begun),
        micros(event.ended),
        tuple(sorted(event.streams)),
    )
