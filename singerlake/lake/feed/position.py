"""Positions: bookmarks in a snapshot, made and verified."""

from __future__ import annotations

import msgspec

from singerlake.errors import MissingManifest, StaleBookmark
from singerlake.format.manifest import File
from singerlake.lake import continuation
from singerlake.lake.feed.bookmark import LOST, Bookmark
from singerlake.lake.log import Selection
from singerlake.lake.merge import read_merge
from singerlake.lake.snapshot import Snapshot

_ANEW = "read the stream whole once, without its bookmark (Meltano: --full-refresh)"


def end_of(snapshot: Snapshot) -> Bookmark:
    """Where a reader stands who has read all of the snapshot."""
    manifest = snapshot.manifest
    check = ""
    if manifest.files:
        newest = manifest.files[-1]
        check = newest.check if newest.sequence == manifest.last_sequence else LOST
    return Bookmark(manifest.log_id, manifest.last_sequence, check)


def after(snapshot: Snapshot, file: File) -> Bookmark:
    """Where a reader stands who has read up to this file, and all of it."""
    return Bookmark(snapshot.manifest.log_id, file.sequence, file.check)


def at(snapshot: Snapshot, sequence: int) -> Bookmark:
    """Where a reader stands who has read up to a number, also one within a merged file.

    Costs a request where the manifest alone does not have the digits.
    """
    if sequence == snapshot.manifest.last_sequence:
        return end_of(snapshot)
    return Bookmark(snapshot.manifest.log_id, sequence, _check_at(snapshot, sequence))


def _check_at(snapshot: Snapshot, sequence: int) -> str:
    """`File.check` of the file that was committed under a number; `LOST` where there is none, and
    "" where nothing tells."""
    if sequence <= 0:
        return ""
    for file in snapshot.files(Selection(since=sequence - 1, until=sequence)):
        if file.sequence == sequence:
            return file.check
        merge = read_merge(snapshot.store, snapshot.keys, file)
        known = merge.known_rows() if merge is not None else []
        return next((row.check for row in known if row.sequence == sequence), "")
    return LOST


def _check_of_lost(snapshot: Snapshot, sequence: int) -> str:
    """`File.check` of the file that bore a number until it was lost; "" where nothing tells."""
    gaps = snapshot.manifest.gaps
    return next((gap.check for gap in gaps if gap.last_sequence == sequence), "")


def in_log(snapshot: Snapshot, bookmark: Bookmark) -> Bookmark:
    """The place as this log calls it, where it may come from one that this log continues. Raises
    as `require` does."""
    require(snapshot, bookmark)
    return msgspec.structs.replace(bookmark, log_id=snapshot.log_id)


def require(snapshot: Snapshot, bookmark: Bookmark, remedy: str = _ANEW) -> None:
    """Raises `StaleBookmark` or `MissingManifest` where a reader cannot go on from a bookmark."""
    manifest = snapshot.manifest
    where = f"stream {manifest.stream!r} of {manifest.tap_id!r} in {snapshot.store.url}"
    if snapshot.by_listing:
        raise MissingManifest(
            f"{where}: there is a bookmark, and no manifest to look it up in; "
            "run `singerlake rebuild` first"
        )
    if not manifest.log_id:
        raise StaleBookmark(
            f"{where}: there is a bookmark, and the stream has no files (any more); {remedy}"
        )
    if not snapshot.knows(bookmark.log_id, bookmark.sequence):
        up_to = continuation.common(manifest, bookmark.log_id)
        known = f", which goes on from that one up to {up_to} only" if up_to else ""
        raise StaleBookmark(
            f"{where}: the bookmark belongs to another log ({bookmark.log_id} at "
            f"{bookmark.sequence}, this one is {manifest.log_id}{known}): another lake, or a "
            f"rebuild gave new sequence numbers; {remedy}"
        )
    if bookmark.sequence > manifest.last_sequence:
        raise StaleBookmark(
            f"{where}: the bookmark is at {bookmark.sequence}, and the newest file is "
            f"{manifest.last_sequence}: the lake is older than the bookmark; {remedy}"
        )
    _require_same_file(snapshot, bookmark, where, remedy)


def _require_same_file(snapshot: Snapshot, bookmark: Bookmark, where: str, remedy: str) -> None:
    """Raises `StaleBookmark` where the bookmark's number is of another commit.

    Without anything new to read, only what costs no request is compared, rows and gaps of the
    manifest: the next commit brings the rest.
    """
    if not bookmark.check:
        return
    rows = snapshot.manifest.files
    is_at_hand = bool(rows) and rows[0].lowest_sequence <= bookmark.sequence
    is_all_read = bookmark.sequence == snapshot.manifest.last_sequence
    found = _check_at(snapshot, bookmark.sequence) if is_at_hand or not is_all_read else LOST
    if found == LOST and bookmark.check != LOST:
        found = _check_of_lost(snapshot, bookmark.sequence)
    if found not in ("", LOST, bookmark.check):
        raise StaleBookmark(
            f"{where}: the bookmark is at {bookmark.sequence}, which was another commit when it "
            f"was read ({bookmark.check}, now {found}): an older manifest was put back, and "
            f"numbers were given again. To lose nothing, {remedy}"
        )
