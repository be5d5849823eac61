"""From a finished file to a committed one: lock, upload, commit."""

from __future__ import annotations

import uuid
from pathlib import Path

from singerlake.errors import AlreadyExists, NotFound, OutcomeUnknown
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format.keys import FileName, StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import commit, lock
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import Head
from singerlake.lake.spool import Spooled
from singerlake.store import Promise, Store

LARGE = 16 << 20
"""Bytes that every store still takes in one request."""

ORIGIN = 1024
"""Bytes at the beginning of a file that tell it from every other."""


def land(
    store: Store,
    keys: StreamKeys,
    head: Head,
    spooled: Spooled,
    writer_id: str,
    run_id: str,
    times: LockTimes,
    require: commit.Require = lambda manifest, made: None,
) -> tuple[Head, tuple[File, ...]]:
    """Upload one file and commit it; returns the new head and the committed entry."""
    digest = spooled.schema.digest()
    manifests.require_same_schema(head.manifest, spooled.schema_hash, digest)
    with lock.held(store, keys.lock(spooled.schema_hash), writer_id, times):
        file = File(
            path=_upload(store, keys, spooled),
            sequence=0,
            records=spooled.summary.records,
            bytes=spooled.bytes,
            raw_bytes=spooled.raw_bytes,
            first=spooled.summary.first or spooled.opened,
            last=spooled.summary.last or spooled.opened,
            checksum=spooled.checksum,
            writer_id=writer_id,
            run_id=run_id,
            committed=spooled.opened,
        )
        digests = {spooled.schema_hash: digest}
        return commit.append(store, keys, head, [file], digests, writer_id, times, require)


def _upload(store: Store, keys: StreamKeys, spooled: Spooled) -> str:
    """Create the object under a name that nobody has; an object is never overwritten."""
    suffix = uuid.uuid4().hex[:8] if _may_overwrite(store, spooled) else ""
    while True:
        name = FileName(
            spooled.stream,
            spooled.summary.first or spooled.opened,
            spooled.summary.last or spooled.opened,
            suffix,
        )
        path = key_names.file_path(spooled.schema_hash, name)
        spooled.require_whole()  # it may have waited long for those before it
        try:
            store.create(keys.under(path), spooled.data)
        except AlreadyExists:
            if not _is_ours(store, keys.under(path), spooled):
                suffix = uuid.uuid4().hex[:8]
                continue
        except OutcomeUnknown:
            if not _is_ours(store, keys.under(path), spooled):
                raise
        return path


def _may_overwrite(store: Store, spooled: Spooled) -> bool:
    """Whether no condition may keep an upload from overwriting another: then no two share a name.

    Large files go in parts, and some servers that keep the condition of a plain PUT ignore the
    same condition when the parts are joined. Those that keep it refuse the file after all of it
    was sent.
    """
    return spooled.bytes > LARGE or store.promise() is Promise.BEST_EFFORT


def _is_ours(store: Store, key: str, spooled: Spooled) -> bool:
    """True where our upload was applied and only its answer was lost.

    A file begins with its origin, which no other file has, and an upload is all or nothing.
    """
    try:
        with store.open(key) as found:
            return found.read(ORIGIN) == _beginning(spooled.data)
    except NotFound:
        return False


def _beginning(data: bytes | Path) -> bytes:
    if isinstance(data, bytes):
        return data[:ORIGIN]
    with data.open("rb") as file:
        return file.read(ORIGIN)
