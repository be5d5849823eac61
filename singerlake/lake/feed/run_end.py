"""The ends of a tap's runs, from its run log."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from singerlake.errors import StaleBookmark
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import Row, RunLog
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.event import RunEnded
from singerlake.lake.runs import log as logs
from singerlake.store import Store


def after(store: Store, keys: RunKeys, log: RunLog, read: Bookmark) -> Iterator[Row]:
    """The rows behind a bookmark of this log. Raises `StaleBookmark` where the log is not the one
    that was read: shorter, or with another run under the bookmark's number."""
    rows = logs.rows(store, keys, log, after=max(read.sequence - 1, 0))
    if read.sequence > log.last_number:
        raise _stale(store, keys, read, f"its last row is {log.last_number}")
    for row in rows:
        if row.number > read.sequence:
            yield row
        elif read.check not in ("", check_of(row)):
            raise _stale(store, keys, read, f"another run has this number, {row.run_id}")


def event(tap: str, log_id: str, row: Row) -> RunEnded:
    return RunEnded(
        tap=tap,
        stream="",
        bookmark=Bookmark(log_id, row.number, check_of(row)),
        run_id=row.run_id,
        writer_id=row.writer_id,
        outcome=row.outcome,
        begun=row.begun,
        ended=row.ended,
        streams=row.streams,
        corrects=row.mark is not None,
    )


def check_of(row: Row) -> str:
    """Eight digits that tell a row from another with its number."""
    text = f"{row.document} {row.mark.id if row.mark else ''}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]


def _stale(store: Store, keys: RunKeys, read: Bookmark, found: str) -> StaleBookmark:
    return StaleBookmark(
        f"{store.url}/{keys.log}: the bookmark is at run {read.sequence}, and {found}: an older "
        "run log was put back. `singerlake check --fix` adds the rows of runs that it lacks; then "
        "follow the tap's runs from the beginning"
    )
