"""Segments that no manifest names: what an interrupted commit leaves of a seal."""

from __future__ import annotations

from collections.abc import Iterable

from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import Manifest
from singerlake.lake import log, retired
from singerlake.store import Promise, Store


def list_all(store: Store, keys: StreamKeys) -> list[str]:
    """The keys of the segments that lie in the store."""
    return [row.key for row in store.list(f"{keys.folder}/_segments")]


def remove(store: Store, keys: StreamKeys, listed: Iterable[str], manifest: Manifest) -> int:
    """Remove those of the `listed` segments that `manifest` does not name.

    They must have been listed before `manifest` was put in place. A writer that had made
    one by then cannot commit it any more, because its put requires a manifest before ours;
    one that it makes later may be named by its next put.
    """
    named = {keys.under(path) for path in log.segment_paths(store, keys, manifest)}
    # Those that a vacuum wrote anew wait for its purge: snapshots from before need them.
    rows = log.files(store, keys, manifest)
    merges = [file.merge.path for file in rows if file.merge is not None]
    waiting = {
        one.path for old in retired.read_all(store, keys, merges).values() for one in old.retired
    }
    named |= {keys.under(path) for path in waiting}
    if store.promise() is not Promise.CONDITIONAL:
        # There a put may yet arrive that names one.
        return 0
    unnamed = [key for key in listed if key not in named]
    for key in unnamed:
        store.delete(key)
    return len(unnamed)
