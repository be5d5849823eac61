"""The ingester: follows the commit feed, and keeps an index in step with it.

Whatever one stream's events say goes into one transaction with their bookmark: each commit is in
the index once, however often the ingester dies.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from itertools import groupby

from singerlake.errors import BusyError, SingerlakeError, StoreError
from singerlake.index.application import Application
from singerlake.index.commit import NamedFiles
from singerlake.index.named import LakeFiles
from singerlake.index.reindex import reindex
from singerlake.index.storage.base import Change, Storage
from singerlake.lake import Lake
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.event import Event, Failed, Renumbered, Replaced
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.follower import Follower
from singerlake.lake.feed.options import DEFAULTS, FeedOptions

logger = logging.getLogger(__name__)

ROWS = 10_000
"""Entries in one transaction, unless a stream is indexed anew."""

OnFailure = Callable[[Failed], None]


@dataclass
class Round:
    """What one poll did."""

    entries: int = 0
    changes: int = 0
    failures: int = 0


class Ingester:
    """For one thread; `hint` and `close` are for any.

    Several ingesters may follow a lake into one index: each transaction begins by looking whether
    the stream is still where this ingester left it.
    """

    def __init__(
        self,
        storage: Storage,
        lake: Lake,
        taps: Collection[str] | None = None,
        streams: Collection[str] | None = None,
        *,
        options: FeedOptions = DEFAULTS,
        follower: Follower | None = None,
        named_files: NamedFiles | None = None,
        on_failure: OnFailure | None = None,
    ) -> None:
        self._storage, self._lake = storage, lake
        self._taps, self._streams = taps, streams
        self._follower = follower or Follower(lake.store, options)
        self._named_files = named_files or LakeFiles(lake.store)
        self._on_failure = on_failure or _log
        self._reported: dict[tuple[str, str], str] = {}
        self._woken, self._closed = threading.Event(), False
        # Without its document a lake has no id: then the index still knows which it is.
        self.lake_id = lake.lake_id() or storage.lake_id or ""
        storage.bind(self.lake_id, lake.store.url)
        self._begin()

    def _begin(self) -> None:
        """Follow from where the index stands."""
        cursor = self._storage.cursor()
        self._places: dict[tuple[str, str], Bookmark] = dict(cursor.bookmarks)
        self._places |= {(tap, ""): place for tap, place in cursor.runs.items()}
        self._feed: Feed = self._lake.feed(
            cursor, self._taps, self._streams, follower=self._follower
        )
        self._off: set[tuple[str, str]] = set()
        self._again = 0.0

    def hint(self, tap: str, stream: str | None = None) -> None:
        """Something was committed here: ask now."""
        self._feed.hint(tap, stream)
        self._woken.set()

    def close(self) -> None:
        """End `run` after the transaction that is under way."""
        self._closed = True
        self._feed.close()
        self._woken.set()

    def run(self, on_round: Callable[[Round], None] | None = None) -> None:
        """Follow until `close`."""
        while not self._closed:
            self._woken.clear()
            done = self._poll_or_fail()
            if on_round is not None:
                on_round(done)
            # A stream that was indexed anew may have more; what failed would fail again at once.
            if done.failures or not self._off:
                self._follower.runtime.wait(self._woken, self._follower.options.poll_seconds)

    def _poll_or_fail(self) -> Round:
        """A poll; a database or a store that does not answer is asked again later."""
        try:
            return self.poll()
        except StoreError as error:
            self._off.add(("", ""))
            kind = type(error).__name__
            self._fail(Failed(tap="", stream="", bookmark=START, error=str(error), kind=kind))
            return Round(failures=1)

    def poll(self) -> Round:
        """Ask for everything that is due, once, and index it.

        Where the feed has gone on in a stream from what the index has of it, the stream is left
        alone, and a later poll begins from where the index stands.
        """
        if self._off and self._follower.runtime.monotonic() >= self._again:
            self._begin()
        done = Round()
        events = self._feed.poll()
        for (tap, stream), some in groupby(events, key=lambda event: (event.tap, event.stream)):
            if (tap, stream) not in self._off:
                self._take(tap, stream, some, done)
            if self._closed:
                break
        return done

    def _take(self, tap: str, stream: str, events: Iterator[Event], done: Round) -> None:
        try:
            first = next(events, None)
            while first is not None and (tap, stream) not in self._off:
                first = self._transaction(tap, stream, first, events, done)
        except _Unfinished as unfinished:
            self._leave(unfinished.event, done, patiently=True)
        except SingerlakeError as error:
            place, kind = self._places.get((tap, stream), START), type(error).__name__
            failed = Failed(tap=tap, stream=stream, bookmark=place, error=str(error), kind=kind)
            self._leave(failed, done, patiently=not isinstance(error, (BusyError, StoreError)))

    def _leave(self, event: Failed, done: Round, patiently: bool) -> None:
        """Leave a stream alone for a while: damage does not go away as soon as an outage does."""
        options = self._follower.options
        wait = options.idle_seconds if patiently else options.poll_seconds
        self._off.add((event.tap, event.stream))
        self._again = max(self._again, self._follower.runtime.monotonic() + wait)
        self._fail(event)
        done.failures += 1

    def _transaction(
        self, tap: str, stream: str, first: Event, events: Iterator[Event], done: Round
    ) -> Event | None:
        """Index events of one stream; returns the first that is left for the next transaction."""
        if isinstance(first, Failed):
            return self._failed(first, events, done)
        with self._storage.change(tap, stream) as change:
            if self._is_overtaken(change, tap, stream):
                return None
            if _asks_again(first):
                self._anew(change, tap, stream, done)
                return None
            applied = Application(change, self.lake_id, self._named_files)
            event: Event | None = first
            while event is not None and not _ends_transaction(event, applied):
                applied.apply(event)
                event = next(events, None)
            if isinstance(event, Failed) and applied.is_anew:
                raise _Unfinished(event)
            change.keep(applied.bookmark)
        self._places[tap, stream] = applied.bookmark
        self._reported.pop((tap, stream), None)
        done.entries += applied.entries
        done.changes += 1
        return event

    def _failed(self, event: Failed, events: Iterator[Event], done: Round) -> Event | None:
        """A bookmark that is of no use any more is forgotten, with what was read up to it."""
        if event.kind != "StaleBookmark":
            self._fail(event)
            done.failures += 1
            return next(events, None)
        with self._storage.change(event.tap, event.stream) as change:
            if not self._is_overtaken(change, event.tap, event.stream):
                self._anew(change, event.tap, event.stream, done)
        return None

    def _is_overtaken(self, change: Change, tap: str, stream: str) -> bool:
        """Whether another ingester was here."""
        if change.bookmark == self._places.get((tap, stream)):
            return False
        self._off.add((tap, stream))
        return True

    def _anew(self, change: Change, tap: str, stream: str, done: Round) -> None:
        """Index a stream from its beginning, or a tap's runs at the next poll."""
        self._off.add((tap, stream))
        if not stream:
            change.clear()
            change.keep(START)
            return
        done.entries += reindex(
            change, self._lake.stream(tap, stream), self.lake_id, self._named_files
        )
        done.changes += 1

    def _fail(self, event: Failed) -> None:
        text = f"{event.kind}: {event.error}"
        if self._reported.get((event.tap, event.stream)) != text:
            self._reported[event.tap, event.stream] = text
            self._on_failure(event)


class _Unfinished(Exception):
    """A stream that was being indexed anew cannot be read on: what the index had stays."""

    def __init__(self, event: Failed) -> None:
        super().__init__(event.error)
        self.event = event


def _ends_transaction(event: Event, applied: Application) -> bool:
    if isinstance(event, Failed) or _asks_again(event):
        return True
    if isinstance(event, Renumbered):
        return applied.has_begun
    return applied.entries >= ROWS and not applied.is_anew


def _asks_again(event: Event) -> bool:
    """Whether rows changed in a way that only the rows themselves say."""
    return isinstance(event, Replaced) and event.reason != "vacuum"


def _log(event: Failed) -> None:
    logger.warning("%s %s: %s: %s", event.tap, event.stream, event.kind, event.error)


def follow(storage: Storage, lake: Lake) -> Round:
    """Bring an index up to date with its lake, once."""
    return Ingester(storage, lake).poll()
