"""A feed: events of many streams from a cursor on.

for event in lake.feed(cursor):
    with database:                 # one transaction
        apply(event)
        keep(event.tap, event.stream, event.bookmark)
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Collection, Iterator, Sequence
from itertools import islice

from singerlake.errors import (
    MissingManifest,
    NotFound,
    SingerlakeError,
    StaleSnapshot,
    StoreError,
)
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.run_log import Row, RunLog
from singerlake.lake import log as manifest_log
from singerlake.lake.feed import increment, run_end
from singerlake.lake.feed.bookmark import START, Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.directory import Directory
from singerlake.lake.feed.event import Event, Failed, Renumbered, RunEnded
from singerlake.lake.feed.follower import Follower, Look
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
        self._directory = Directory(follower, taps, streams, self._bookmarks)
        self._done: dict[str, int] = {}
        self._tried: dict[str, float] = {}
        self._failed: dict[tuple[str, str], str] = {}
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
            yield from self.poll()
            if not self._closed:
                seconds = self._follower.options.poll_seconds
                self._follower.runtime.wait(self._woken, seconds)

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
            self._follower.hint([*self._directory.keys_of(tap), RunKeys(tap).log, *known])
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
        yield from self._reported(broken, "")
        if any(not self._directory.has(keys) for keys in self._named(ended)):
            yield from self._discover()
        self._follower.hint([keys.manifest for keys in self._named(ended)])
        unread: set[StreamKeys] = set()
        streams = iter(self._directory.manifests.items())
        while batch := self._hinted() or list(islice(streams, BATCH)):
            looks = self._follower.look([key for _, key in batch])
            for keys, key in batch:
                if self._done.get(key) != looks[key].change:
                    yield from self._stream(keys, looks[key], unread)
        for tap, (log, look, rows) in ended.items():
            yield from self._run_ends(tap, log, look, rows, unread)

    def _hinted(self) -> list[tuple[StreamKeys, str]]:
        """Streams of which a hint has come: they do not wait until a poll of thousands ends."""
        hinted = {self._hints.popleft(): None for _ in range(len(self._hints))}
        return [(keys, keys.manifest) for keys in hinted]

    def _discover(self) -> Iterator[Failed]:
        found = self._directory.refresh()
        gone = {(tap, "*") for tap in ("", *self._directory.taps) if tap not in found}
        for key in gone & self._failed.keys():
            del self._failed[key]
        for tap, error in found.items():
            yield from self._failure(tap, "", error, START, known_as="*")

    # Streams

    def _stream(self, keys: StreamKeys, look: Look, unread: set[StreamKeys]) -> Iterator[Event]:
        """What is new in one stream. A passing fault puts it among the `unread`."""
        key = keys.manifest
        if self._tried.get(key) == look.asked and (keys.tap_id, keys.stream) in self._failed:
            unread.add(keys)
            return
        self._tried[key] = look.asked
        try:
            if look.error is not None and not isinstance(look.error, NotFound):
                raise look.error
            for event in self._history(keys, look):
                self._bookmarks[keys] = event.bookmark
                yield event
        except SingerlakeError as error:
            if isinstance(error, (StoreError, StaleSnapshot)):
                unread.add(keys)
            place = self._bookmarks.get(keys, START)
            yield from self._failure(keys.tap_id, keys.stream, error, place)
            return
        self._done[key] = look.change
        self._failed.pop((keys.tap_id, keys.stream), None)

    def _history(self, keys: StreamKeys, look: Look) -> Iterator[Event]:
        store = self._follower.store
        if look.error is not None:
            if keys in self._bookmarks:
                raise MissingManifest(
                    f"{store.url}/{keys.manifest}: not there, and the feed has read it before; "
                    "run `singerlake rebuild` to make it from the files, or restore a backup"
                )
            return  # registered, and nothing is committed yet
        for attempt in range(1, ATTEMPTS + 1):
            manifest = manifest_log.decode(store, keys, self._follower.read(keys.manifest))
            read = self._bookmarks.get(keys, START)
            if read.log_id not in ("", manifest.log_id):
                anew = Bookmark(manifest.log_id, 0, revision=manifest.revision or 0)
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

    def _ended_runs(
        self,
    ) -> tuple[dict[str, tuple[RunLog, Look, list[Row]]], dict[str, SingerlakeError]]:
        """The runs whose end was not reported, by tap, and the taps whose run log is broken."""
        store, taps = self._follower.store, self._directory.taps
        looks = self._follower.look([RunKeys(tap).log for tap in taps])
        ended: dict[str, tuple[RunLog, Look, list[Row]]] = {}
        broken: dict[str, SingerlakeError] = {}
        for tap in taps:
            keys = RunKeys(tap)
            look = looks[keys.log]
            if self._done.get(keys.log) == look.change:
                continue
            try:
                if look.error is not None:
                    raise look.error
                log = run_logs.decode(store, keys, self._follower.read(keys.log))
                read = self._runs.get(tap, START)
                if read.log_id != log.log_id:
                    read = Bookmark(log.log_id, 0)
                ended[tap] = log, look, list(run_end.after(store, keys, log, read))
            except NotFound as error:
                if tap in self._runs:
                    broken[tap] = error
            except SingerlakeError as error:
                broken[tap] = error
        return ended, broken

    def _named(self, ended: dict[str, tuple[RunLog, Look, list[Row]]]) -> set[StreamKeys]:
        """The streams of these runs that the feed is about."""
        named = {
            StreamKeys(tap, stream)
            for tap, (_, _, rows) in ended.items()
            for row in rows
            for stream in row.streams
        }
        return {keys for keys in named if self._directory.wants(keys)}

    def _run_ends(
        self, tap: str, log: RunLog, look: Look, rows: Sequence[Row], unread: set[StreamKeys]
    ) -> Iterator[Event]:
        """The ends of a tap's runs, up to the first that names a stream which could not be read:
        its commits have to come before."""
        read = self._runs.get(tap, START)
        if read.log_id not in ("", log.log_id):
            self._runs[tap] = Bookmark(log.log_id, 0)
            yield Renumbered(tap=tap, stream="", bookmark=self._runs[tap], old_log_id=read.log_id)
        for row in rows:
            named = {StreamKeys(tap, stream) for stream in row.streams}
            if named & unread:
                return
            event: RunEnded = run_end.event(tap, log.log_id, row)
            self._runs[tap] = event.bookmark
            if not named or any(self._directory.wants(keys) for keys in named):
                yield event
        self._done[RunKeys(tap).log] = look.change
        self._failed.pop((tap, ""), None)

    # Failures

    def _reported(self, errors: dict[str, SingerlakeError], stream: str) -> Iterator[Failed]:
        for tap, error in errors.items():
            yield from self._failure(tap, stream, error, self._runs.get(tap, START))

    def _failure(
        self,
        tap: str,
        stream: str,
        error: SingerlakeError,
        place: Bookmark,
        known_as: str | None = None,
    ) -> Iterator[Failed]:
        """The failure as an event, unless it was reported and is the same."""
        key = (tap, stream if known_as is None else known_as)
        text = f"{type(error).__name__}: {error}"
        if self._failed.get(key) == text:
            return
        self._failed[key] = text
        yield Failed(
            tap=tap, stream=stream, bookmark=place, error=str(error), kind=type(error).__name__
        )
