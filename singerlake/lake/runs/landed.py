"""What a run has landed in a stream so far."""

from __future__ import annotations

from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.run import RunStream
from singerlake.lake import continuation, log, provenance
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.store import Store


def added(before: RunStream, log_id: str, file: File) -> RunStream:
    """With one more file. Where the log was numbered anew, the range begins there."""
    first = before.first_sequence if before.log_id == log_id else 0
    known = before.schema_hashes
    return RunStream(
        log_id=log_id,
        first_sequence=first or file.lowest_sequence,
        last_sequence=file.sequence,
        files=before.files + 1,
        records=before.records + max(file.records, 0),
        bytes=before.bytes + file.bytes,
        schema_hashes=known if file.schema_hash in known else (*known, file.schema_hash),
        bookmark=before.bookmark,
    )


def found(
    store: Store, keys: StreamKeys, since: Bookmark, run_id: str, writer_id: str
) -> RunStream:
    """By the log: what a run has committed since it began there."""
    manifest = log.read_head(store, keys).manifest
    behind = log.behind(store, keys, manifest, since.log_id, since.sequence)
    left = RunStream()
    for file in provenance.committed_rows(store, keys, log.files(store, keys, manifest, behind)):
        if (file.run_id, file.writer_id) == (run_id, writer_id):
            left = added(left, continuation.origin_log_id(manifest, file.sequence), file)
    return left
