"""Readers that were overtaken: what they need is gone, and the log has gone on without it.

A reader holds a snapshot. A vacuum replaces files, and a purge removes them after a grace period; a
rebuild records what is gone. Then nothing is damaged, and a read from now on finds all there is.
"""

from __future__ import annotations

from singerlake.errors import SingerlakeError, StaleSnapshot
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import log
from singerlake.lake.log import Selection
from singerlake.store import Store


def overtaken(store: Store, keys: StreamKeys, file: File, gone: str) -> StaleSnapshot | None:
    """The error for a reader that lacks `gone`, the file or its merge document; None where the
    log as it is now needs it too, or cannot be read: then it is damage."""
    numbers = Selection(since=file.lowest_sequence - 1, until=file.sequence)
    try:
        manifest = log.read_head(store, keys).manifest
        rows = list(log.files(store, keys, manifest, numbers))
    except SingerlakeError:
        return None
    if any(_needs(row, file) for row in rows):
        return None
    return StaleSnapshot(
        f"{store.url}/{keys.under(gone)}: it is not there any more, and the log does without it: "
        f"{_why(rows)} since this read began. Nothing is lost: run it again. A longer grace "
        "(`singerlake vacuum --purge --grace`) spares slow readers that"
    )


def _needs(row: File, file: File) -> bool:
    return (row.path, row.checksum, row.merge) == (file.path, file.checksum, file.merge)


def _why(rows: list[File]) -> str:
    if any(row.merge is not None for row in rows):
        return "a vacuum has merged its lines into another file, and a purge has removed it,"
    return "a rebuild has recorded that it is gone, or has given new sequence numbers,"
