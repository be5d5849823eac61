"""From a finished file to a committed one: lock, upload, commit."""

from __future__ import annotations

from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import commit, lock, naming
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import Head
from singerlake.lake.naming import Content, Name
from singerlake.lake.spool import Spooled
from singerlake.store import Store


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
        spooled.require_whole()  # it may have waited long for those before it
        name = Name(spooled.stream, spooled.schema_hash, spooled.first, spooled.last)
        content = Content(spooled.data, spooled.checksum, spooled.bytes)
        content = naming.create(store, keys, name, content)
        spooled.discard()  # the file in the lake may be the very same: it gets no second name
        file = File(
            path=name.path(content.checksum),
            sequence=0,
            records=spooled.summary.records,
            bytes=content.bytes,
            raw_bytes=spooled.raw_bytes,
            first=name.first,
            last=name.last,
            checksum=content.checksum,
            writer_id=writer_id,
            run_id=run_id,
            committed=spooled.opened,
        )
        digests = {spooled.schema_hash: digest}
        return commit.append(store, keys, head, [file], digests, writer_id, times, require)
