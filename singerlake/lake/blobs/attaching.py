"""What a writer does about records that name files: store the bytes, and say in the line where."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from singerlake.errors import BadFile
from singerlake.format import blob as blobs
from singerlake.format import message
from singerlake.lake import commit
from singerlake.lake.blobs.staged import Blob, Staged, VerifiedUpload
from singerlake.lake.blobs.watch import Watch
from singerlake.lake.lane import Lane
from singerlake.lake.lock import LockTimes
from singerlake.store import Store

WAITING = 64
"""Files that may wait for their upload before the caller has to."""

SPLICED = 1024
"""Bytes that a stored line may have beyond the longest that is taken."""

Stage = Callable[[str], Staged]
"""From the value of a marked property to the file; raises `BadFile` where it may not be stored."""


class Attaching:
    """Uploads on the writer's threads, as many as may wait; use from the writer's thread."""

    def __init__(
        self,
        store: Store,
        uploads: ThreadPoolExecutor,
        writer_id: str,
        times: LockTimes,
        settled: Callable[[Future[Any]], None],
    ) -> None:
        self._store, self._uploads = store, uploads
        self._writer_id, self._times, self._settled = writer_id, times, settled
        self._room = threading.BoundedSemaphore(WAITING)

    def attach(self, lane: Lane, staged: Staged, registration: Future[None] | None) -> Blob:
        """Hash a file now, and have it uploaded before the lane's open file is committed."""
        blob = staged.measured()
        if blob.path in lane.attached:
            return blob
        watch = self._watch(lane, registration)
        upload = VerifiedUpload(staged, blob)
        self._room.acquire()
        work = self._uploads.submit(watch.ensure, upload)
        work.add_done_callback(self._settled)
        work.add_done_callback(lambda _: self._room.release())
        lane.attached[blob.path] = upload, work
        return blob

    def _watch(self, lane: Lane, registration: Future[None] | None) -> Watch:
        if lane.watch is None:
            lane.watch = Watch(self._store, lane.keys, self._writer_id, self._times)
            lane.watch.begun = self._uploads.submit(lane.watch.begin, registration)
            lane.watch.begun.add_done_callback(self._settled)
        return lane.watch


Attached = Mapping[str, tuple[VerifiedUpload, Future[None]]]


def uploaded(watch: Watch | None, attached: Attached) -> commit.Require:
    """Wait for the uploads; returns what the commit that names them requires."""
    if watch is None:
        return lambda manifest, made: None
    for _, work in attached.values():
        work.result()
    return watch.require([upload for upload, _ in attached.values()])


def with_files(line: bytes, marked: tuple[str, ...], attach: Callable[[str], Blob] | None) -> bytes:
    """A RECORD line of a marked stream, with the paths of its files where they can be stored.

    What the tap itself sent in these fields is overruled: it is not about this lake.
    """
    paths = {} if attach is None else _attached(message.record_of(line), marked, attach)
    if blobs.has_field(line):
        line = blobs.overruled(line, paths)
    elif paths:
        line = blobs.with_files(line, paths)
    if len(line) > message.LONGEST + SPLICED:
        raise message.too_long()
    return line


def _attached(
    record: Mapping[str, Any], marked: tuple[str, ...], attach: Callable[[str], Blob]
) -> dict[str, str]:
    paths = {}
    for name in marked:
        value = record.get(name)
        if value is None:
            continue
        if not isinstance(value, str):
            raise BadFile(
                f"the property {name!r} names a file: expected a path or URL, or null, found "
                f"{type(value).__name__}"
            )
        paths[name] = attach(value).path
    return paths
