"""Cleaning up after projections: what died runs and older versions left, after a grace period."""

from __future__ import annotations

from datetime import timedelta

from singerlake.lake import clock
from singerlake.spark.publish import read_published_head
from singerlake.spark.published import PublishedKeys, run_of
from singerlake.store import Listed, Store

GRACE = timedelta(hours=24)


def clean(store: Store, keys: PublishedKeys, grace: timedelta = GRACE) -> int:
    """Remove the files that no version has named for longer than `grace`; returns how many.

    A reader of an older version, and a run under way, have that long: it must be longer
    than either takes. The listing comes before the document is read, so a file that a run
    publishes meanwhile is named by it.
    """
    listed = list(store.list(keys.data))
    published = read_published_head(store, keys).published
    named = {file.path for file in published.files} if published else set()
    retired = {row.run_id: row.time for row in published.retired} if published else {}
    now = clock.now()

    def is_due(row: Listed) -> bool:
        path = keys.path(row.key)
        left = max(row.modified, retired.get(run_of(path), row.modified))
        return path not in named and now - left >= grace

    due = [row.key for row in listed if is_due(row)]
    for key in due:
        store.delete(key)
    return len(due)
