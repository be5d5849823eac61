"""Purging: what merges replaced, and what nobody will ever name, is removed after a grace."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from singerlake.errors import NotFound
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest
from singerlake.lake import clock, commit, inventory, log, manifest_copy, retired, uploads
from singerlake.lake.blobs import purge as blob_purge
from singerlake.lake.commit import missing_manifest
from singerlake.lake.identity import new_writer_id
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.lock import LockTimes
from singerlake.lake.parallel import in_parallel
from singerlake.lake.returned import Returned
from singerlake.store import Store

GRACE = timedelta(days=7)
"""How long replaced files are kept for readers that began before the merge."""

AHEAD = timedelta(days=1)
"""How far ahead of the store's clock that of a machine is believed: one that was set wrong must not
end the grace of readers."""

SHORTEST = timedelta(hours=1)
"""Of a shorter grace the command warns: readers of some minutes are overtaken. What is being
committed needs none, because no name of a file comes again."""


def purge(
    store: Store,
    keys: StreamKeys,
    grace: timedelta = GRACE,
    *,
    abandoned: timedelta = GRACE,
    dry_run: bool = False,
) -> list[str]:
    """Remove what merges replaced longer than `grace` ago; returns the keys.

    What merges left that were not committed goes too, once it is older than `abandoned`: a
    vacuum gives up long before. Its age is that of the merge's document. So does what jobs have
    uploaded and not committed, and so do the bytes of files of any kind that no record names. These
    ages are by the store's clock alone: a machine whose clock is ahead must not take what is under
    way for left over.
    """
    found = inventory.take(store, keys.tap_id, keys.stream).streams.get(keys)
    if found is None:
        return []
    removed = _purge_merged(store, found, grace, abandoned, dry_run)
    if found.blobs or found.removals:
        removed += blob_purge.purge(store, found, max(grace, abandoned), dry_run=dry_run)
    return removed


def _purge_merged(
    store: Store, found: StreamInventory, grace: timedelta, abandoned: timedelta, dry_run: bool
) -> list[str]:
    """What merges replaced, and what merges and jobs left behind."""
    now, keys = clock.now(), found.keys
    if not (found.merges or found.notes):
        return []
    try:
        manifest = log.read_head(store, keys).manifest
    except NotFound:
        raise missing_manifest(store, keys) from None
    left_at = now - max(grace, abandoned)
    going = _going(store, found, manifest, now - grace, left_at)
    if (going or found.notes) and not dry_run:
        # A vacuum that sleeps before its put, thought dead, must not wake up and name them. Nor may
        # a rebuild that has read them: its put requires the manifest of before.
        manifest = commit.touch(store, keys, new_writer_id(), LockTimes()).manifest
        if found.merges:
            # Of a vacuum that died before its copy, the older one still names what goes now.
            manifest_copy.keep(store, keys, manifest)
        store_time = _store_time(store, keys)
        left_at = min(now, store_time) - max(grace, abandoned)
        going = _going(store, found, manifest, min(now, store_time + AHEAD) - grace, left_at)
        # A merged file whose document is gone would be an orphan, and its records be there twice.
        steps = going - found.merges.keys(), going & found.merges.keys()
        for step in steps:
            for _ in in_parallel(store.delete, sorted(map(keys.under, step))):
                pass
    removed = sorted(keys.under(path) for path in going)
    return removed + _withdrawn(store, found, manifest, left_at, dry_run)


def _going(
    store: Store,
    found: StreamInventory,
    manifest: Manifest,
    replaced_by: datetime,
    left_by: datetime,
) -> set[str]:
    """The listed paths that were replaced, or left over, long enough ago."""
    needed, gone = _standing(store, found, manifest)
    due = {path for path, moment in gone.replaced_at.items() if moment <= replaced_by}
    due |= {path for path, moment in gone.left_at.items() if moment <= left_by}
    return (due & {*found.files, *found.merges, *found.segments}) - needed


def _standing(
    store: Store, found: StreamInventory, manifest: Manifest
) -> tuple[set[str], retired.Retired]:
    """The paths that the log needs, or that one which was there before it needs, and what is
    retired or was never committed."""
    files = list(log.files(store, found.keys, manifest))
    needed = {file.path for file in files} | {file.merge.path for file in files if file.merge}
    needed |= set(log.segment_paths(store, found.keys, manifest))
    needed |= _only_copies(store, found, files)
    needed |= manifest_copy.needed(store, found.keys, manifest)
    return needed, retired.find(store, found, files)


def _only_copies(store: Store, found: StreamInventory, files: Iterable[File]) -> set[str]:
    """What a merge replaced whose own file is not there whole: nothing else has these lines."""
    documents = [
        file.merge.path
        for file in files
        if file.merge is not None
        and (file.path not in found.files or found.files[file.path].size != file.bytes)
    ]
    merges = retired.read_all(store, found.keys, documents).values()
    returned = Returned(found.files)
    return {one.path for merge in merges for one in returned.replaced_by(merge)}


def _store_time(store: Store, keys: StreamKeys) -> datetime:
    """The store's clock, by the manifest that was put just now."""
    return max(row.modified for row in store.list(keys.folder))


def _withdrawn(
    store: Store, found: StreamInventory, manifest: Manifest, left_at: datetime, dry_run: bool
) -> list[str]:
    """What jobs left behind that have been silent since `left_at`."""
    jobs = uploads.abandoned(found.notes, left_at)
    if dry_run:
        old = [note for note in found.notes if note.job in jobs]
        return uploads.left_by(store, found.keys, manifest, old)
    return uploads.forget(store, found.keys, jobs, new_writer_id(), LockTimes())
