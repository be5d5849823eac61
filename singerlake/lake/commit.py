"""Committing: the manifest is replaced only if it is still the one that was read.

That one condition is what keeps every record (docs/decisions/conditional-commit.md). A conflict
is retried on the fresh manifest. A put whose answer was lost may fail against its own success, so
after every conflict we look whether our files are in the log already.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from collections.abc import Callable, Container, Sequence

import msgspec

from singerlake.errors import (
    AlreadyExists,
    Changed,
    MissingManifest,
    NotFound,
    OutcomeUnknown,
)
from singerlake.format import document
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format import seal as seals
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Commit, File, Manifest, Segment
from singerlake.lake import clock, log, manifest_copy, retired
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import EVERYTHING, Head, Selection
from singerlake.lake.patience import Patience, lost_race
from singerlake.store import Promise, Store

Require = Callable[[Manifest, Commit], None]
"""Given the manifest that a put is about to replace, and the commit that it makes."""


def new_commit(writer_id: str) -> Commit:
    return Commit(id=uuid.uuid4().hex, time=clock.now(), writer_id=writer_id)


def new_manifest(keys: StreamKeys, commit: Commit) -> Manifest:
    return Manifest(
        tap_id=keys.tap_id,
        stream=keys.stream,
        log_id=uuid.uuid4().hex,
        commit=commit,
        revision=0,
    )


def open_log(store: Store, keys: StreamKeys, writer_id: str, is_new: bool = False) -> Head:
    """The stream's head, made where the stream is new, which is not looked for where `is_new` says
    so.

    The manifest comes before the first file, so files without a manifest mean that it
    was lost, and a new one would hide them: raises `MissingManifest`.
    """
    if not is_new:
        with contextlib.suppress(NotFound):
            return log.read_head(store, keys)
    files_there = has_files(store, keys)
    try:
        if files_there:
            # Another writer may have made it since we looked.
            return log.read_head(store, keys)
        manifest = new_manifest(keys, new_commit(writer_id))
        return Head(manifest, store.create(keys.manifest, manifests.encode(manifest)))
    except AlreadyExists:
        return log.read_head(store, keys)
    except OutcomeUnknown as error:
        try:
            return log.read_head(store, keys)
        except NotFound:
            raise error from None
    except NotFound:
        raise missing_manifest(store, keys) from None


def missing_manifest(store: Store, keys: StreamKeys) -> MissingManifest:
    return MissingManifest(
        f"{store.url}/{keys.manifest}: not there, but the stream has files; run `singerlake "
        f"rebuild` for stream {keys.stream!r} of {keys.tap_id!r} to make it from them. "
        "Nothing was committed"
    )


def has_files(store: Store, keys: StreamKeys) -> bool:
    """Whether the stream has Singer files, by a listing."""
    return any(
        isinstance(item := key_names.parse(listed.key), key_names.StreamObject)
        and item.kind == "file"
        for listed in store.list(keys.folder)
    )


def append(
    store: Store,
    keys: StreamKeys,
    head: Head,
    files: Sequence[File],
    digests: dict[str, str],
    writer_id: str,
    times: LockTimes,
    require: Require = lambda manifest, made: None,
) -> tuple[Head, tuple[File, ...]]:
    """Add uploaded files to the log, once, whatever the store answers.

    `head` was read before the upload: our files can only stand behind its last sequence.
    `require` is called before each put; what it raises stops the commit. Returns the new head and
    the files as they were committed. Raises `CommitConflict`, and `CorruptDocument` where the log
    is shorter than it was.
    """
    wanted = {file.path: file.checksum for file in files}
    before = head.manifest

    def find(now: Head) -> tuple[File, ...] | None:
        among = log.behind(store, keys, now.manifest, before.log_id, before.last_sequence)
        rows = log.files(store, keys, now.manifest, among)
        held = retired.holding(store, keys, rows, wanted)
        return tuple(held[path] for path in wanted) if len(held) == len(wanted) else None

    def update(now: Manifest) -> Manifest:
        made = new_commit(writer_id)
        require(now, made)
        return manifests.append(now, files, made, digests)

    head = replace(store, keys, head, update, lambda now: find(now) is not None, times)
    committed = find(head)
    if committed is None:
        raise AssertionError(f"{keys.manifest}: committed files are not in the manifest")
    return head, committed


def adopt(
    store: Store,
    keys: StreamKeys,
    files: Sequence[File],
    digests: dict[str, str],
    writer_id: str,
    times: LockTimes,
    *,
    among: Callable[[Manifest], Selection] = lambda _: EVERYTHING,
    require: Callable[[], None] = lambda: None,
    may_come: Callable[[Manifest], Container[str]] | None = None,
    number: Callable[[Sequence[File], int], Sequence[File]] = lambda files, _: files,
) -> list[File]:
    """Add files that lie in the store, except those that the log names: their writer may only
    have been slow, and have committed them since they were found. Returns what it set out to add.

    `among` is where in the log they can be. `require` is called before each put, after the
    manifest that the put replaces was read; what it raises stops the commit. `may_come` gives the
    paths of those that may be added to a manifest; all, without it. `number` gives rows the numbers
    from a first one on, where more is to be written with these.
    """

    sought = {file.path: file.checksum for file in files}

    def missing(now: Manifest) -> list[File]:
        rows = log.files(store, keys, now, among(now))
        held = retired.holding(store, keys, rows, sought)
        left = [file for file in files if file.path not in held]
        allowed = may_come(now) if left and may_come is not None else None
        return [file for file in left if allowed is None or file.path in allowed]

    def update(now: Manifest) -> Manifest:
        require()
        rows = number(missing(now), now.last_sequence + 1)
        return manifests.append(now, rows, new_commit(writer_id), digests)

    head = log.read_head(store, keys)
    wanted = missing(head.manifest)
    if wanted:
        replace(store, keys, head, update, lambda now: not missing(now.manifest), times)
    return wanted


def touch(store: Store, keys: StreamKeys, writer_id: str, times: LockTimes) -> Head:
    """See to it that the manifest gets a new version, by us or by another: a put that requires an
    older one can never be applied."""
    before = log.read_head(store, keys)

    def update(manifest: Manifest) -> Manifest:
        return msgspec.structs.replace(manifest, commit=new_commit(writer_id))

    def is_done(now: Head) -> bool:
        return now.version != before.version

    return replace(store, keys, before, update, is_done, times, seals=False)


def touch_ourselves(store: Store, keys: StreamKeys, writer_id: str, times: LockTimes) -> Head:
    """Give the manifest a new version by a put of our own: whoever read it before has to read it
    again, whoever else has committed meanwhile."""
    made = new_commit(writer_id)

    def update(manifest: Manifest) -> Manifest:
        return msgspec.structs.replace(manifest, commit=made)

    def is_done(now: Head) -> bool:
        return now.manifest.commit.id == made.id

    return replace(store, keys, log.read_head(store, keys), update, is_done, times, seals=False)


def replace(
    store: Store,
    keys: StreamKeys,
    head: Head,
    update: Callable[[Manifest], Manifest],
    is_done: Callable[[Head], bool],
    times: LockTimes,
    *,
    seals: bool = True,
    copies: bool = False,
) -> Head:
    """Apply `update` to the newest manifest, and return the head that `is_done` accepts. Where rows
    of files were sealed, or where it `copies`, the manifest is copied then.

    Where it `seals`, `is_done` has to tell a put that was ever applied, whatever was committed
    since: a segment of one that never was is deleted, and nobody may hold a snapshot that needs it.
    """
    patience = Patience(times.max_wait)
    while True:
        changed, segment = update(head.manifest), ""
        if seals:
            changed, segment = _seal(store, keys, changed)
        try:
            fresh = Head(
                changed, store.replace(keys.manifest, manifests.encode(changed), head.version)
            )
        except (Changed, OutcomeUnknown):
            fresh = _read_again(store, keys)
            done = is_done(fresh)
        else:
            done = store.promise() is Promise.CONDITIONAL
            if not done:
                # No condition held another writer back, so see who won.
                time.sleep(times.settle)
                fresh = _read_again(store, keys)
                done = is_done(fresh)
        if done:
            if copies or key_names.is_of_files(segment):
                manifest_copy.keep(store, keys, fresh.manifest)
            return fresh
        # Where our put required a version that is history, it cannot be applied any more: unless
        # it was, nothing will name this segment.
        if (
            segment
            and store.promise() is Promise.CONDITIONAL
            and fresh.version != head.version
            and segment not in log.segment_paths(store, keys, fresh.manifest)
        ):
            store.delete(keys.under(segment))
        unchanged, head = fresh.version == head.version, fresh
        if not patience.pause():
            where = f"{store.url}/{keys.manifest}"
            raise lost_race(where, patience.waited(), unchanged)


def _read_again(store: Store, keys: StreamKeys) -> Head:
    try:
        return log.read_head(store, keys)
    except NotFound:
        raise missing_manifest(store, keys) from None


def _seal(store: Store, keys: StreamKeys, manifest: Manifest) -> tuple[Manifest, str]:
    """Move the oldest rows to a segment where that is due; at most once a commit."""
    seal = seals.due_seal(manifest)
    if seal is None:
        return manifest, ""
    segment = write_segment(store, keys, seal)
    return seals.sealed(manifest, seal, segment), segment.path


def write_segment(store: Store, keys: StreamKeys, seal: seals.Seal) -> Segment:
    """Put rows in a segment of their own; returns the row that stands for them."""
    data = document.encode(seal.content)
    row = seals.segment_of(seal.level, seal.rows, "", log.checksum(data))
    path = key_names.segment_path(
        seal.level, row.first_sequence, row.last_sequence, uuid.uuid4().hex[:8]
    )
    create_anew(store, keys.under(path), data)
    return msgspec.structs.replace(row, path=path)


def create_anew(store: Store, key: str, data: bytes) -> None:
    """Create an object under a name that nobody else can have: what lies there is ours."""
    try:
        store.create(key, data)
    except (AlreadyExists, OutcomeUnknown):
        # Only the answer was lost.
        if not _holds(store, key, data):
            raise


def _holds(store: Store, key: str, data: bytes) -> bool:
    try:
        return store.read(key).data == data
    except NotFound:
        return False


def seal_all(store: Store, keys: StreamKeys, manifest: Manifest) -> Manifest:
    """Seal until the manifest is small: for one that was made whole, by a rebuild."""
    while True:
        manifest, segment = _seal(store, keys, manifest)
        if not segment:
            return manifest
