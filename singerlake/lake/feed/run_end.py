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


class EndedRuns:
    """The rows of a tap's run log behind a bookmark, or all of them where the log is another.

    They are read twice, once for the streams that they name, and never kept: a tap can have a
    million runs. `change` is that of the look which found the log. Raises `StaleBookmark` where the
    log is shorter than it was, or has another run under the bookmark's number.
    """

    def __init__(
        self, store: Store, keys: RunKeys, log: RunLog, read: Bookmark, change: int
    ) -> None:
        self.log, self.change = log, change
        self._store, self._keys = store, keys
        self._read = read if read.log_id == log.log_id else Bookmark(log.log_id, 0)
        self.streams = {stream for row in self.rows() for stream in row.streams}

    def rows(self) -> Iterator[Row]:
        """In order."""
        read = self._read
        if read.sequence > self.log.last_number:
            raise self._stale(f"its last row is {self.log.last_number}")
        for row in logs.rows(self._store, self._keys, self.log, max(read.sequence - 1, 0)):
            if row.number > read.sequence:
                yield row
            elif read.check not in ("", check_of(row)):
                raise self._stale(f"another run has this number, {row.run_id}")

    def _stale(self, found: str) -> StaleBookmark:
        return StaleBookmark(
            f"{self._store.url}/{self._keys.log}: the bookmark is at run {self._read.sequence}, "
            f"and {found}: an older run log was put back. `singerlake check --fix` adds the rows "
            "of runs that it lacks; then follow the tap's runs from the beginning"
        )


def between(store: Store, tap: str, since: Bookmark | None, until: Bookmark) -> Iterator[Row]:
    """The rows of a tap's run log behind one bookmark and up to another.

    Raises `StaleBookmark` where a bookmark is not of the log as it is now, and `NotFound`.
    """
    keys = RunKeys(tap)
    log = logs.read_head(store, keys).log
    if until.log_id != log.log_id:
        raise StaleBookmark(
            f"{store.url}/{keys.log}: the bookmark belongs to another log ({until.log_id}, this "
            f"one is {log.log_id}): the runs were numbered anew. Follow them from the beginning"
        )
    EndedRuns(store, keys, log, until, 0)  # raises StaleBookmark where its row is another
    for row in EndedRuns(store, keys, log, since or Bookmark(log.log_id, 0), 0).rows():
        if row.number > until.sequence:
            return
        yield row


def after(log: RunLog, row: Row) -> Bookmark:
    """Where a reader stands who has read up to this row, and the row too."""
    return Bookmark(log.log_id, row.number, check_of(row))


def event(tap: str, log: RunLog, row: Row) -> RunEnded:
    return RunEnded(
        tap=tap,
        stream="",
        bookmark=after(log, row),
        run_id=row.run_id,
        writer_id=row.writer_id,
        outcome=row.outcome,
        begun=row.begun,
        ended=row.ended,
        streams=row.streams,
        reason=row.reason,
        corrects=row.mark is not None,
    )


def check_of(row: Row) -> str:
    """Eight digits that tell a row from another with its number."""
    text = f"{row.document} {row.mark.id if row.mark else ''}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
