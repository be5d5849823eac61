"""A feed: events of many streams from a cursor on.

for event in lake.feed(cursor):
    with database:                 # one transaction
        apply(event)
        keep(event.tap, event.stream, event.bookmark)
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterator
from itertools import islice

from singerlake.errors import (
    DamageError,
    MissingManifest,
    NotFound,
    SingerlakeError,
    StaleBookmark,
    StaleSnapshot,
    StoreError,
)
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.lake import continuation
from singerlake.lake import log as manifest_log
from singerlake.lake.feed import increment, run_end
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.directory import Directory
from singerlake.lake.feed.event import Event, Failed, Renumbered
from singerlake.lake.feed.follower import Follower, Look
from singerlake.lake.feed.run_end import EndedRuns
from singerlake.lake.runs import log as run_logs
from singerlake.lake.snapshot import Snapshot

BATCH = 128
"""Streams that are asked for together: no more manifests than these are in memory."""

ATTEMPTS = 3
"""How often one poll begins a stream anew that a vacuum and a purge overtook."""


class Feed:
    """One consumer's view of the lake. For one thread; `hint` and `close` are for any."""

    def __init__(
        self,
        follower: Follower,
        cursor: Cursor,
        taps: Collection[str] | None = None,
        streams: Collection[str] | None = None,
    ) -> None:
        self._follower = follower
        self._bookmarks = {StreamKeys(*key): place for key, place in cursor.bookmarks.items()}
        self._runs = dict(cursor.runs)
        self._directory = Directory(follower, taps, streams, cursor)
        self._done: dict[str, int] = {}
        self._tried: dict[str, float] = {}
        self._failed: dict[str, str] = {}
        self._unread: set[StreamKeys] = set()
        self._hints: deque[StreamKeys] = deque()
        self._woken, self._closed = threading.Event(), False

    @property
    def cursor(self) -> Cursor:
        """Where the consumer stands after the last event that was handed out."""
        places = {(keys.tap_id, keys.stream): place for keys, place in self._bookmarks.items()}
        return Cursor(places, dict(self._runs))

    def __iter__(self) -> Iterator[Event]:
        """Events as they come, until `close`."""
        while not self._closed:
            self._woken.clear()
            for event in self.poll():
                yield event
                if self._closed:
                    return
            self._follower.runtime.wait(self._woken, self._follower.options.poll_seconds)

    def hint(self, tap: str, stream: str | None = None) -> None:
        """Something was committed here: ask now. Without a stream, the whole tap and its runs."""
        if stream is not None and self._directory.has(StreamKeys(tap, stream)):
            self._follower.hint([StreamKeys(tap, stream).manifest])
            self._hints.append(StreamKeys(tap, stream))
        elif stream is not None:
            self._follower.hint(self._directory.keys_of(tap))
        else:
            manifests = self._directory.manifests.items()
            known = [key for keys, key in manifests if keys.tap_id == tap]
            self._follower.hint([*self._directory.keys_of(tap), *known])
        self._woken.set()

    def close(self) -> None:
        """End the iteration after the event that is under way."""
        self._closed = True
        self._woken.set()

    def poll(self) -> Iterator[Event]:
        """Ask for everything that is due, once. What is not taken comes again at the next poll.

        The run logs are read before the manifests: then a run's commits are in what is read.
        """
        yield from self._discover()
        ended, broken = self._ended_runs()
        for tap, error in broken.items():
            yield from self._failure(RunKeys(tap).log, tap, "", error, self._runs.get(tap, START))
        named = self._directory.add(
            StreamKeys(tap, stream) for tap, runs in ended.items() for stream in runs.streams
        )
        self._follower.hint([keys.manifest for keys in named])
        streams = iter(self._directory.manifests.items())
        while batch := self._hinted() or list(islice(streams, BATCH)):
            looks = self._follower.look([key for _, key in batch])
            for keys, key in batch:
                if self._done.get(key) != looks[key].change:
                    yield from self._stream(keys, looks[key])
        for tap, runs in ended.items():
            yield from self._run_ends(tap, runs)

    def _hinted(self) -> list[tuple[StreamKeys, str]]:
        """Streams of which a hint has come: they do not wait until a poll of thousands ends."""
        hinted = {self._hints.popleft(): None for _ in range(len(self._hints))}
        return [(keys, keys.manifest) for keys in hinted]

    def _discover(self) -> Iterator[Failed]:
        for (key, tap), error in self._directory.refresh().items():
            if error is None:
                self._failed.pop(key, None)
            else:
                yield from self._failure(key, tap, "", error, self._runs.get(tap, START))

    # Streams

    def _stream(self, keys: StreamKeys, look: Look) -> Iterator[Event]:
        """What is new in one stream; where it cannot be read now, it is among the unread ones. Not
        where it is damaged, or its bookmark stale: that may last for ever."""
        key = keys.manifest
        if self._tried.get(key) == look.asked and key in self._failed:
            return
        self._tried[key] = look.asked
        self._unread.discard(keys)
        try:
            if look.error is not None and not isinstance(look.error, NotFound):
                raise look.error
            for event in self._history(keys, look):
                self._bookmarks[keys] = event.bookmark
                yield event
        except SingerlakeError as error:
            if not isinstance(error, (DamageError, StaleBookmark)):
                self._unread.add(keys)
            place = self._bookmarks.get(keys, START)
            yield from self._failure(key, keys.tap_id, keys.stream, error, place)
            return
        self._done[key] = look.change
        self._failed.pop(key, None)

    def _history(self, keys: StreamKeys, look: Look) -> Iterator[Event]:
        store = self._follower.store
        if look.error is not None:
            if self._bookmarks.get(keys, START).log_id:
                raise MissingManifest(
                    f"{store.url}/{keys.manifest}: not there, and the feed has read it before; "
                    "run `singerlake rebuild` to make it from the files, or restore a backup"
                )
            return  # registered, and nothing is committed yet
        for attempt in range(1, ATTEMPTS + 1):
            manifest = manifest_log.decode(store, keys, self._follower.read(keys.manifest))
            read = self._bookmarks.get(keys, START)
            if read.log_id and not continuation.is_known(manifest, read.log_id, read.sequence):
                anew = Bookmark(manifest.log_id, 0, revision=manifest.revision_number)
                yield Renumbered(
                    tap=keys.tap_id, stream=keys.stream, bookmark=anew, old_log_id=read.log_id
                )
                read = anew
            try:
                yield from increment.take(Snapshot(store, keys, manifest), read).events()
            except StaleSnapshot:
                if attempt == ATTEMPTS:
                    raise
                self._follower.hint([keys.manifest])
                self._follower.look([keys.manifest])
            else:
                return

    # Runs

    def _ended_runs(self) -> tuple[dict[str, EndedRuns], dict[str, SingerlakeError]]:
        """The runs whose end was not reported, by tap, and the taps whose run log is broken."""
        taps = self._directory.taps
        looks = self._follower.look([RunKeys(tap).log for tap in taps])
        ended: dict[str, EndedRuns] = {}
        broken: dict[str, SingerlakeError] = {}
        for tap in taps:
            keys = RunKeys(tap)
            look, read = looks[keys.log], self._runs.get(tap, START)
            if self._done.get(keys.log) == look.change:
                continue
            try:
                if look.error is not None:
                    raise look.error
                log = run_logs.decode(self._follower.store, keys, self._follower.read(keys.log))
                ended[tap] = EndedRuns(self._follower.store, keys, log, read, look.change)
            except NotFound as error:
                if read.log_id:
                    broken[tap] = error
            except SingerlakeError as error:
                broken[tap] = error
        return ended, broken

    def _run_ends(self, tap: str, runs: EndedRuns) -> Iterator[Event]:
        """The ends of a tap's runs, up to the first that names a stream which could not be read:
        its commits have to come before."""
        read, key = self._runs.get(tap, START), RunKeys(tap).log
        if read.log_id not in ("", runs.log.log_id):
            self._runs[tap] = Bookmark(runs.log.log_id, 0)
            yield Renumbered(tap=tap, stream="", bookmark=self._runs[tap], old_log_id=read.log_id)
        try:
            for row in runs.rows():
                named = {StreamKeys(tap, stream) for stream in row.streams}
                if named & self._unread:
                    return
                event = run_end.event(tap, runs.log, row)
                self._runs[tap] = event.bookmark
                if not named or any(self._directory.wants(keys) for keys in named):
                    yield event
        except SingerlakeError as error:
            yield from self._failure(key, tap, "", error, self._runs.get(tap, START))
            return
        self._done[key] = runs.change
        self._failed.pop(key, None)

    def _failure(
        self, key: str, tap: str, stream: str, error: SingerlakeError, place: Bookmark
    ) -> Iterator[Failed]:
        """The failure of a document as an event, unless it was reported and is the same."""
        kind = type(error).__name__
        # A store that gives no answer says each time how long it took.
        text = kind if isinstance(error, StoreError) else f"{kind}: {error}"
        if self._failed.get(key) != text:
            self._failed[key] = text
            yield Failed(tap=tap, stream=stream, bookmark=place, error=str(error), kind=kind)
