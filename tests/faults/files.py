"""Files of any kind under faults: puts beside purges, and whether bytes lie where records say."""

from __future__ import annotations

import contextlib
import hashlib
import io
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from unittest import mock

from singerlake.errors import BusyError, NotFound
from singerlake.format import blob, blob_keys
from singerlake.lake import Lake, Snapshot, commit, log, open_on
from singerlake.lake.blobs import purge as purges
from singerlake.lake.blobs import removal
from singerlake.lake.blobs.live import live
from singerlake.lake.blobs.reference import Marks
from singerlake.lake.blobs.staged import Staged
from singerlake.lake.purging import purge
from singerlake.store import Store
from tests.faults.life import World
from tests.faults.process import Body, Process
from tests.faults.truth import Shelf, Truth, Violation
from tests.faults.work import TIMES, Work
from tests.lake.landing import KEYS, STREAM, TAP, options, record_line

SHORT = replace(TIMES, max_wait=4.0)
"""Whoever waits for a purge that another process has to end gives up soon."""

CONTENT = b"the bytes of a photo"
PATH = blob_keys.path_of(hashlib.sha256(CONTENT).hexdigest())

SCHEMA = (
    b'{"type":"SCHEMA","stream":"orders","key_properties":["id"],"schema":{"type":"object",'
    b'"properties":{"id":{"type":"integer"},"photo":{"type":"string","x-singerlake-file":true}}}}'
)


def staged(content: bytes = CONTENT) -> Staged:
    return Staged("photo", lambda: io.BytesIO(content))


def put_line(number: int, path: str) -> bytes:
    return blob.with_files(record_line(number), {"photo": path})


def tombstone(number: int) -> bytes:
    line = record_line(number)
    return line[: line.rindex(b"}")] + b',"singerlake_forgotten":true}'


def put(store: Store, *numbers: int, content: bytes = CONTENT, early: bool = False) -> None:
    """Commit a record for each number, which names the same bytes.

    `early` is what nobody must do: the record is committed before the bytes are there.
    """
    lake = open_on(store, create=True)
    writer = lake.writer(TAP, options=options(SHORT, uploads=1))
    path = blob_keys.path_of(hashlib.sha256(content).hexdigest())
    try:
        writer.write(SCHEMA)
        for number in numbers:
            if not early:
                path = writer.attach(STREAM, staged(content)).path
            writer.write(put_line(number, path), as_it_is=True)
        writer.commit()
        if early:
            writer.attach(STREAM, staged(content))
            writer.commit()
    finally:
        writer.close()


def put_beside_own_commits(store: Store, *numbers: int) -> None:
    """The bytes are looked for while an earlier file of the same writer is on its way.

    Real writers do that on several threads; here the uploads are set aside for a moment.
    """
    before, last = numbers
    writer = open_on(store, create=True).writer(TAP, options=options(SHORT, uploads=1))
    try:
        writer.write(SCHEMA)
        path = writer.attach(STREAM, staged()).path
        lane = writer._lanes[STREAM]
        aside, lane.attached = lane.attached, {}
        writer.write(record_line(before))
        writer.commit()
        lane.attached = aside
        writer.write(put_line(last, path), as_it_is=True)
        writer.commit()
    finally:
        writer.close()


def forget(store: Store, number: int) -> None:
    """A tombstone, and then the bytes, as `singerlake forget` does it."""
    writer = Lake(store).writer(TAP, options=options(SHORT, uploads=1))
    try:
        writer.write(SCHEMA)
        writer.write(tombstone(number), as_it_is=True)
        writer.commit()
    finally:
        writer.close()
    purges.remove(store, KEYS, {PATH})


# What simulated processes do:


def putting(number: int, content: bytes = CONTENT, *, early: bool = False) -> Work:
    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            truth.send([number])
            # A purge that died, or a delete that hangs, keeps these bytes from coming back.
            with contextlib.suppress(BusyError):
                put(process.store, number, content=content, early=early)
                process.acknowledge(lambda: truth.acknowledge([number]))

        return body

    return of


def putting_beside_own_commits(*numbers: int) -> Work:
    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            truth.send(numbers)
            with contextlib.suppress(BusyError):
                put_beside_own_commits(process.store, *numbers)
                process.acknowledge(lambda: truth.acknowledge(numbers))

        return body

    return of


def purging_files() -> Work:
    now = timedelta(0)

    def body(process: Process) -> None:
        purge(process.store, KEYS, now, abandoned=now)

    return lambda truth: body


def forgetting(number: int) -> Work:
    def of(truth: Truth) -> Body:
        def body(process: Process) -> None:
            truth.send([number])
            forget(process.store, number)

        return body

    return of


# Where they do it:


def with_an_orphan(store: Shelf, truth: Truth) -> None:
    """A stream, and bytes that a crashed put left."""
    put(store, 0, content=b"other bytes")
    truth.send([0])
    truth.acknowledge([0])
    store.create(KEYS.under(PATH), CONTENT)


def with_a_file(store: Shelf, truth: Truth) -> None:
    """A stream with a record that names the bytes."""
    put(store, 0)
    truth.send([0])
    truth.acknowledge([0])


# What has to hold:

Broken = Callable[[], contextlib.AbstractContextManager[object]]


def nothing_dangles(store: Shelf, truth: Truth) -> None:
    """In every state: what a record names that nobody has forgotten lies there, whole."""
    versions = store.versions()
    try:
        manifest = log.read_head(store, KEYS).manifest
    except NotFound:
        return
    for path in _named(store, manifest.commit.id):
        if versions.get(KEYS.under(path)) != blob_keys.sha256_of(path):
            raise Violation(f"DANGLING {path}: a record names it, and it is not there")


_known: dict[str, frozenset[str]] = {}


def _named(store: Shelf, commit_id: str) -> frozenset[str]:
    """By the rows of the manifest: the same rows name the same."""
    snapshot = Snapshot(store, KEYS, log.read_head(store, KEYS).manifest)
    rows = "".join(file.checksum for file in snapshot.files())
    if rows not in _known:
        _known[rows] = frozenset(live(snapshot, Marks()).paths())
    return _known[rows]


class _Runtime:
    """The world's time and identifiers, as `singerlake.runtime` has them."""

    def __init__(self, world: World) -> None:
        self.now, self.monotonic = world.now, world.monotonic
        self.new_id = lambda: world.uuid4().hex


@contextlib.contextmanager
def in_world(world: World) -> Iterator[None]:
    with mock.patch.object(purges, "REAL", _Runtime(world)):
        yield


# Controls: what the suite must see.


def silent_purge() -> Any:
    """Nobody is told what will be removed."""
    return mock.patch.object(
        removal, "announce", lambda store, keys, unique, paths: keys.under("_files/none")
    )


def purge_that_trusts_another() -> Any:
    """Any new version of the manifest is taken for the purge's own."""
    return mock.patch.object(commit, "touch_ourselves", commit.touch)


def writer_that_looks_once() -> Any:
    """After a refused put, the bytes are taken to be where they were."""
    from singerlake.lake.blobs.watch import Watch

    def nothing(manifest: object, made: object) -> None:
        """As if all were there."""

    return mock.patch.object(Watch, "require", return_value=nothing)


def writer_that_does_not_wait() -> Any:
    """What is announced is passed over."""
    from singerlake.lake.blobs.watch import Watch

    return mock.patch.object(Watch, "_wait_for_the_end", return_value=None)
