"""What a writer does in the background: streams are registered, closed files become commits.

Uploads and commits run on threads. Those of one stream stay in order, those of different streams
run side by side. A thread waits only for work that was submitted, and so has started, earlier.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

from singerlake.format.catalogue import Entry
from singerlake.format.manifest import File
from singerlake.format.marker import Marker
from singerlake.format.schema import Schema
from singerlake.lake import commit, markers, upload
from singerlake.lake.blobs import attaching
from singerlake.lake.blobs.attaching import Attached, Attaching
from singerlake.lake.blobs.staged import Blob, Staged
from singerlake.lake.feed import event
from singerlake.lake.feed.event import Committed
from singerlake.lake.lane import Flush, Lane
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import Head
from singerlake.lake.pending import Pending, succeeded
from singerlake.lake.registration import register
from singerlake.lake.runs import landed
from singerlake.lake.spool import OpenFile
from singerlake.store import Store

OnCommit = Callable[[Committed, Schema], None]
"""Receives each commit as a feed would report it, and its schema."""

CLOSED = 16
"""Closed files that may wait for their upload, at least, before the caller has to."""


class Source(NamedTuple):
    """What the rows of committed files say of where they come from."""

    tap_id: str
    run_id: str
    writer_id: str


class Delivery:
    """Use from the writer's thread. Work that failed once stops the writer for good."""

    def __init__(
        self,
        store: Store,
        source: Source,
        times: LockTimes,
        uploads: int,
        on_commit: OnCommit | None,
    ) -> None:
        self._store, self._source, self._times = store, source, times
        self._on_commit = on_commit
        self.pending = Pending()
        self.known = markers.Known()
        self._registration: Future[None] | None = None
        self._unregistered: dict[str, Entry] = {}
        self._registering = 0
        self._commits: list[Future[tuple[File, ...]]] = []
        self._failure: BaseException | None = None
        self._threads = ThreadPoolExecutor(uploads, thread_name_prefix="singerlake-upload")
        self._attaching = Attaching(store, self._threads, source.writer_id, times, self._settled)
        # Bounds what closed files take on the local disk while the store is slow.
        self._room = threading.BoundedSemaphore(max(CLOSED, 2 * uploads))

    @property
    def is_registered(self) -> bool:
        """Whether streams were registered, and the registration has succeeded."""
        return self._registration is not None and succeeded(self._registration)

    def announce(self, stream: str, entry: Entry) -> None:
        """A stream that has to be in the catalogue before its next file is committed."""
        if not self._unregistered:
            self._registering = self.pending.begin()
        self._unregistered[stream] = entry

    def register(self) -> None:
        """Have new streams in the catalogue before any of their files is committed."""
        if self._unregistered:
            entries, self._unregistered = self._unregistered, {}
            self._registration = self._threads.submit(
                register, self._store, self._source.tap_id, entries, self._registration, self.known
            )
            self._registration.add_done_callback(self._settled)
            self.pending.submit(self._registering, self._registration)

    def attach(self, lane: Lane, staged: Staged) -> Blob:
        """Have a file of any kind stored before the stream's open file is committed."""
        self.register()
        return self._attaching.attach(lane, staged, self._registration)

    def submit(self, lane: Lane, file: OpenFile) -> None:
        """Have a closed file committed behind the stream's earlier ones."""
        self.register()
        self._room.acquire()
        attached, lane.attached = lane.attached, {}
        lane.tail = self._threads.submit(
            self._land, lane, file, lane.tail, self._registration, attached
        )
        lane.tail.add_done_callback(self._settled)
        lane.tail.add_done_callback(lambda _: self._room.release())
        self._commits.append(lane.tail)
        self.pending.submit(lane.number, lane.tail)

    def flush(self, lanes: Collection[Lane]) -> Flush:
        """All that was submitted, to wait for. Raises what stopped the writer."""
        self.register()
        self.refuse_after_failure()
        landings, self._commits = tuple(self._commits), []
        before = (self._registration, *(lane.tail for lane in lanes))
        earlier = [work for work in before if work is not None and work not in landings]
        return Flush(tuple(earlier), landings)

    def close(self) -> None:
        """Wait for the work that is under way, and give up what waits for its turn."""
        self._threads.shutdown(wait=True, cancel_futures=True)

    @contextmanager
    def failing_for_good(self) -> Iterator[None]:
        """What is stopped half-way, by Ctrl-C as by an error, stops the writer."""
        try:
            yield
        except BaseException as failure:
            self._failure = self._failure or failure
            raise

    def refuse_after_failure(self) -> None:
        """What failed in the background, or half-way, must not be followed by a success."""
        if self._failure is not None:
            raise self._failure

    def _settled(self, work: Future[Any]) -> None:
        """On an upload thread, as some work ends."""
        if not work.cancelled():
            self._failure = self._failure or work.exception()

    def _land(
        self,
        lane: Lane,
        file: OpenFile,
        before: Future[tuple[File, ...]] | None,
        registration: Future[None] | None,
        attached: Attached,
    ) -> tuple[File, ...]:
        """On an upload thread."""
        spooled = file.finish()
        try:
            if registration is not None:
                registration.result()
            if before is not None:
                before.result()
            require = attaching.uploaded(lane.watch, attached)
            _, run_id, writer_id = self._source
            head = lane.head or self._open_log(lane)
            lane.head, files = upload.land(
                self._store, lane.keys, head, spooled, writer_id, run_id, self._times, require
            )
            manifest = lane.head.manifest
            lane.landed = landed.added(lane.landed, manifest.log_id, files[0])
            if self._on_commit is not None:
                self._on_commit(event.committed(lane.keys, manifest, files), spooled.schema)
            return files
        finally:
            spooled.discard()

    def _open_log(self, lane: Lane) -> Head:
        """Read the log once for all commits of the stream, and refuse a log that lost its end."""
        is_new = lane.keys.stream in self.known.new
        head = commit.open_log(self._store, lane.keys, self._source.writer_id, is_new)
        opened, known = head.manifest, self.known.marker(lane.keys.stream)
        end = Marker(opened.log_id, opened.last_sequence)
        markers.require_writable(self._store, lane.keys, end, known)
        return head
