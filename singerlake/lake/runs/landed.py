"""What a run has landed in a stream so far."""

from __future__ import annotations

from singerlake.format.manifest import File
from singerlake.format.run import RunStream


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
