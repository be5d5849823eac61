"""Cleaning up after projections: what died runs and older versions left, after a grace period."""

from __future__ import annotations

from datetime import datetime, timedelta

from singerlake.lake import clock
from singerlake.projection.document import PublishedKeys, new_run_id, run_of
from singerlake.projection.publication import read_published_head
from singerlake.store import Listed, Store

GRACE = timedelta(hours=24)


def clean(store: Store, keys: PublishedKeys, grace: timedelta = GRACE) -> int:
    """Remove the files that no version has named for longer than `grace`; returns how many.

    A reader of an older version, and a run under way, have that long: it must be longer
    than either takes. The listing comes before the document is read, so a file that a run
    publishes meanwhile is named by it. A file's age is by the store's clock alone: a machine whose
    clock is ahead must not take what a run is staging for left over.
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

    due = [row for row in listed if is_due(row)]
    if due:
        store_now = _store_time(store, keys)
        due = [row for row in due if store_now - row.modified >= grace]
    for row in due:
        store.delete(row.key)
    return len(due)


def _store_time(store: Store, keys: PublishedKeys) -> datetime:
    """The store's clock, by an object that is put just now; as staged, should we die here."""
    run = keys.under(f"data/{new_run_id(clock.now())}")
    store.create(f"{run}/clock", b"")
    try:
        return max(row.modified for row in store.list(run))
    finally:
        store.delete(f"{run}/clock")
