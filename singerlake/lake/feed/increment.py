"""An increment: one stream between two bookmarks, in one snapshot."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from singerlake.format.manifest import File
from singerlake.lake.feed import history, position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.event import Event, Lost
from singerlake.lake.log import EVERYTHING, Selection
from singerlake.lake.snapshot import Snapshot


@dataclass(frozen=True)
class Increment:
    """What was committed after `since` and up to `until`.

    `until` is None where the manifest is missing, and the stream is read by listing: there is
    nothing to resume from. Where nothing is new it is where `since` is.
    """

    snapshot: Snapshot
    since: Bookmark | None
    until: Bookmark | None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was committed between the two."""
        return self.until is not None and self.until.sequence <= self._first

    @property
    def _first(self) -> int:
        return 0 if self.since is None else self.since.sequence

    @property
    def selection(self) -> Selection:
        """The numbers between the two bookmarks."""
        return self.within(EVERYTHING)

    def within(self, selection: Selection) -> Selection:
        """A selection, narrowed to this increment."""
        ends = (selection.until, None if self.until is None else self.until.sequence)
        until = min((end for end in ends if end is not None), default=None)
        return replace(selection, since=max(selection.since, self._first), until=until)

    def files(self, selection: Selection = EVERYTHING) -> Iterator[File]:
        """The files in commit order, a merged file once, also where only a part of it is new."""
        return self.snapshot.files(self.within(selection))

    def blocks(self, file: File, selection: Selection = EVERYTHING) -> Iterator[bytes]:
        """A file's content between the two bookmarks; see `Snapshot.blocks`."""
        return self.snapshot.blocks(file, self.within(selection))

    def bookmark(self, file: File) -> Bookmark:
        """Where a reader stands after this file: never behind `until`."""
        if self.until is not None and file.sequence >= self.until.sequence:
            return self.until
        return position.after(self.snapshot, file)

    def capped(self, files: int | None = None, size: int | None = None) -> Increment:
        """The beginning of the increment: so many files and bytes, but at least one file."""
        if self.until is None or self.is_empty or (files is None and size is None):
            return self
        end, total = None, 0
        for count, file in enumerate(self.files(), start=1):
            total += file.bytes
            too_many = files is not None and count > files
            if end is not None and (too_many or (size is not None and total > size)):
                return replace(self, until=self.bookmark(end))
            end = file
        return self

    def up_to(self, sequence: int) -> Increment:
        """The beginning of the increment, up to a number: also one within a merged file.

        Costs a request where the manifest alone does not have the bookmark's digits.
        """
        if self.until is None or self.until.sequence <= sequence:
            return self
        if self.since is not None and sequence <= self.since.sequence:
            return replace(self, until=self.since)
        return replace(self, until=position.at(self.snapshot, sequence))

    def lost(self) -> tuple[Lost, ...]:
        """The numbers of the increment whose files are gone."""
        return tuple(event for event in self.events() if isinstance(event, Lost))

    def events(self) -> Iterator[Event]:
        """What happened, one event for each commit, in order.

        Changes of older rows come first, for a bookmark that has a `revision`. Raises
        `MissingManifest` where there is no manifest.
        """
        return history.events(self.snapshot, self.since, self.until)


def take(
    snapshot: Snapshot, since: Bookmark | None = None, until: Bookmark | None = None
) -> Increment:
    """The part of a snapshot between two bookmarks; `until` is the snapshot's end if None.

    Both come out as places of the snapshot's log, where they were of one that it continues. Raises
    `MissingManifest` and `StaleBookmark`.
    """
    if since is not None and since.log_id == "" and since.sequence == 0:
        since = None  # before the stream had a log
    since, until = (place and position.in_log(snapshot, place) for place in (since, until))
    if until is None and not snapshot.by_listing:
        until = position.end_of(snapshot)
        if since is not None and until.sequence == since.sequence:
            until = since
    return Increment(snapshot, since, until)
