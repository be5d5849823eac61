"""A lake, its taps and their streams: where every use of the library begins.

lake = open_lake("s3://bucket/lake")
for file in lake.stream("tap-x--meltano", "orders").increment(bookmark).files():
    ...
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from singerlake.format import keys as key_names
from singerlake.format.catalogue import Entry
from singerlake.format.keys import StreamKeys
from singerlake.format.lake_document import READ_ONLY
from singerlake.format.pin import Pin
from singerlake.lake import annotation, discovery, pins, registry, snapshot, status, unknown
from singerlake.lake.feed import increment
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.increment import Increment
from singerlake.lake.feed.options import DEFAULTS, FeedOptions
from singerlake.lake.identity import new_run_id, person
from singerlake.lake.runs import LOST_AFTER, Run, history
from singerlake.lake.snapshot import Snapshot
from singerlake.lake.status import Status
from singerlake.lake.write_guard import guarded, require_writable, unguarded
from singerlake.store import Store, open_store

if TYPE_CHECKING:
    from singerlake.lake.delivery import OnCommit
    from singerlake.lake.feed.feed import Feed
    from singerlake.lake.feed.follower import Follower
    from singerlake.lake.writer import Writer
    from singerlake.lake.writer_options import WriterOptions


@dataclass(frozen=True)
class Stream:
    """One stream of one tap."""

    store: Store
    tap_id: str
    name: str

    def snapshot(self) -> Snapshot:
        """The stream as it is now. Raises `UnknownStream`."""
        return snapshot.take(self.store, StreamKeys(self.tap_id, self.name))

    def increment(self, since: Bookmark | None = None, until: Bookmark | None = None) -> Increment:
        """What was committed after a bookmark, or from the beginning, in the stream as it is now.

        Raises `UnknownStream`, `MissingManifest`, and `StaleBookmark` where the bookmark is of
        another log, or where another file bears its number now.
        """
        return increment.take(self.snapshot(), since, until)


@dataclass(frozen=True)
class Tap:
    """One tap's data."""

    store: Store
    tap_id: str

    def stream(self, name: str) -> Stream:
        return Stream(self.store, self.tap_id, name)

    def streams(self) -> list[Stream]:
        """The tap's streams, by name. Raises `UnknownTap`."""
        return [self.stream(name) for name in sorted(self.catalogue())]

    def catalogue(self) -> dict[str, Entry]:
        """The tap's Singer catalog entries, by stream. Raises `UnknownTap`."""
        entries = discovery.catalogue_of(self.store, self.tap_id)
        if not entries:
            unknown.require_tap(self.store, self.tap_id)
        return entries

    def runs(
        self,
        *,
        open: bool = False,
        limit: int | None = None,
        lost_after: timedelta = LOST_AFTER,
    ) -> list[Run]:
        """The tap's runs, the newest last; `limit` gives only the newest. Raises `UnknownTap`.

        One request, and one for each segment of the run log. With `open`, runs come too that left
        commits and no document: that takes a listing, and the manifest of every stream. Such a
        run is `open`, and `lost` once a later run has begun with one of its streams, or
        `lost_after` its last commit.
        """
        if open:
            runs = history.with_unended(self.store, self.tap_id, limit, lost_after)
        else:
            runs = history.logged(self.store, self.tap_id, limit)
        if not runs:
            unknown.require_tap(self.store, self.tap_id)
        return runs


@dataclass(frozen=True)
class Lake:
    """A lake of raw Singer data."""

    store: Store

    def lake_id(self) -> str:
        """What tells this lake from every other: one request. "" without a lake document."""
        body = registry.read_lake_document(self.store)
        return "" if body is None else str(body["lake_id"])

    def taps(self) -> list[Tap]:
        """The lake's taps, by name."""
        return [self.tap(tap_id) for tap_id in registry.tap_ids(self.store)]

    def tap(self, tap_id: str) -> Tap:
        return Tap(self.store, tap_id)

    def stream(self, tap_id: str, name: str) -> Stream:
        return Stream(self.store, tap_id, name)

    def feed(
        self,
        cursor: Cursor | None = None,
        taps: Collection[str] | None = None,
        streams: Collection[str] | None = None,
        *,
        options: FeedOptions = DEFAULTS,
        follower: Follower | None = None,
    ) -> Feed:
        """What is committed from a cursor on, and which runs end, as events: of all streams, or of
        these taps and these streams, also before they exist.

        Feeds that are given one follower ask the store once for all of them. Raises `BadName` and
        `ConfigError`.
        """
        from singerlake.lake.feed.feed import Feed
        from singerlake.lake.feed.follower import Follower

        return Feed(follower or Follower(self.store, options), cursor or Cursor(), taps, streams)

    def status(self) -> Status:
        """Whether the lake may be written: one request."""
        return status.read(self.store)

    def set_read_only(self, reason: str = "") -> Status:
        """Have every writer, and all that mends or deletes, refuse to change this lake.

        Those at work look every five minutes. Raises `NotALake` without a lake document.
        """
        status.change(unguarded(self.store), READ_ONLY, reason)
        return self.status()

    def set_writable(self) -> Status:
        """End what `set_read_only` began."""
        status.change(unguarded(self.store), "")
        return self.status()

    def annotations(self) -> dict[str, dict[str, Any]]:
        """What people wrote about the taps in the lake document."""
        body = registry.read_lake_document(self.store)
        return {} if body is None else dict(body["taps"])

    def annotate(
        self, tap_id: str, changes: Mapping[str, Any], tags: Mapping[str, Any] | None = None
    ) -> None:
        """Change these annotations of a tap, and keep the others; a tag that is None goes.

        Raises `UnknownTap`.
        """
        annotation.annotate(self.store, tap_id, changes, tags or {})

    def pin(self, name: str, until: datetime | None = None, by: str | None = None) -> Pin:
        """Have the lake as it is now under a name, for readers `as of` it; up to `until`, or for
        ever, nothing may delete what it reads. `by` is who says so, by default you.

        Raises `ConfigError` where there is such a pin, `BadName`, and `DamageError` where a stream
        cannot be read.
        """
        return pins.create(self.store, name, until, person() if by is None else by)

    def pins(self) -> list[Pin]:
        """The pins, by name. Raises `CorruptDocument`."""
        return pins.read_all(self.store)

    def unpin(self, name: str) -> None:
        """Forget a pin. Raises `ConfigError` where there is none."""
        pins.remove(self.store, name)

    def writer(
        self,
        tap_id: str,
        run_id: str | None = None,
        options: WriterOptions | None = None,
        on_commit: OnCommit | None = None,
    ) -> Writer:
        """A writer for one tap and one run; `on_commit` hears of each commit.

        Raises `BadName`, and `ReadOnly` where the lake may not be written.
        """
        from singerlake.lake.writer import Writer  # who reads needs none of it

        key_names.escape(tap_id)
        require_writable(self.store)
        return Writer(self.store, tap_id, run_id or new_run_id(), options, on_commit)


def open_lake(url: str | Path, /, *, create: bool = False, **storage_options: Any) -> Lake:
    """Open the lake at a path or any fsspec URL; `storage_options` are fsspec's.

    Raises `NotALake` where there is none, unless `create` asks to make one, which is for who is
    about to write: it raises `ReadOnly` where the lake may not be written.
    """
    return open_on(open_store(url, storage_options), create=create)


def open_on(store: Store, *, create: bool = False) -> Lake:
    """Open the lake on a store that is open already. Raises `NotALake` and `ReadOnly`."""
    store = guarded(store)
    if create:
        registry.register_taps(store, [])
        require_writable(store)
    else:
        unknown.require_lake(store)
    return Lake(store)
