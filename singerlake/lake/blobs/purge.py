"""Removing bytes that no record names: orphans of crashes, and what was forgotten.

See `removal` for the rule that keeps this apart from writers at work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from datetime import datetime, timedelta
from functools import partial

from singerlake.errors import SingerlakeError
from singerlake.format.keys import StreamKeys
from singerlake.lake import clock, commit, pins, snapshot
from singerlake.lake.blobs import orphan, removal
from singerlake.lake.blobs.live import Live, live
from singerlake.lake.blobs.reference import Marks
from singerlake.lake.identity import new_writer_id
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.lock import LockTimes
from singerlake.lake.parallel import in_parallel
from singerlake.lake.snapshot import Snapshot
from singerlake.runtime import REAL
from singerlake.store import Store

LONGEST = 600.0
"""Seconds from the announcement on in which a purge removes anything, by either of its clocks. A
request of it may take some minutes more, and `removal.OVER` is a day."""


def purge(
    store: Store, found: StreamInventory, grace: timedelta, *, dry_run: bool = False
) -> list[str]:
    """Remove the bytes of a stream that nothing names, once they are older than `grace` by the
    store's clock; returns the keys.

    Raises `CorruptFile` and `MissingFile` where a file cannot be read that may name some, and
    `CorruptDocument` where a pin cannot be read: then nothing was removed.
    """
    if not dry_run:
        _clear(store, found.keys)
    old = {path for path, blob in found.blobs.items() if blob.modified <= clock.now() - grace}
    return remove(store, found.keys, old, grace, dry_run=dry_run) if old else []


def remove(
    store: Store,
    keys: StreamKeys,
    wanted: Collection[str],
    grace: timedelta = timedelta(),
    *,
    dry_run: bool = False,
) -> list[str]:
    """Remove these paths as far as neither a record nor a pin names them; returns the keys."""
    marks = Marks()
    now = snapshot.take(store, keys)
    known = live(now, marks)
    going = _unnamed(store, now, known, wanted, marks)
    if dry_run or not going:
        return sorted(map(keys.under, going))
    began, began_at = REAL.monotonic(), clock.now()
    announcement = removal.announce(store, keys, REAL.new_id(), going)
    try:
        head = commit.touch_ourselves(store, keys, new_writer_id(), LockTimes())
        now = Snapshot(store, keys, head.manifest)
        if now.log_id != known.log_id:
            known = Live()  # a rebuild numbered the files anew: read all of it
        known.follow(now, marks)
        due = _older(store, keys, going, announcement, grace)
        due = _unnamed(store, now, known, due, marks)
    except SingerlakeError:
        store.delete(announcement)  # no other request was sent
        raise

    def in_time() -> Iterator[str]:
        for path in sorted(due):
            took = max(REAL.monotonic() - began, (clock.now() - began_at).total_seconds())
            if took > LONGEST:
                return  # the next purge goes on
            yield keys.under(path)

    removed = list(in_parallel(partial(_delete, store), in_time()))
    # Not where a request failed: it may arrive late, and nobody may put these bytes until then.
    store.delete(announcement)
    return removed


def _delete(store: Store, key: str) -> str:
    store.delete(key)
    return key


def _unnamed(
    store: Store, now: Snapshot, known: Live, wanted: Collection[str], marks: Marks
) -> set[str]:
    """Those that no record of the log names, nor one that a pin reads, nor a file that may yet be
    adopted."""
    unnamed = {path for path in wanted if not known.names(path)}
    if not unnamed:
        return set()
    pinned = _pinned(store, now)
    unnamed = {path for path in unnamed if not known.names(path, pinned)}
    return unnamed - orphan.named(store, now, marks) if unnamed else set()


def _pinned(store: Store, now: Snapshot) -> list[int]:
    keys, moment = now.keys, clock.now()
    places = [
        pin.stream(keys.tap_id, keys.stream)
        for pin in pins.read_all(store)
        if not pin.has_expired(moment)
    ]
    return [one.sequence for one in places if one and now.knows(one.log_id, one.sequence)]


def _older(
    store: Store, keys: StreamKeys, paths: set[str], announcement: str, grace: timedelta
) -> set[str]:
    """Those older than the grace period by the store's clock, which dated the announcement."""
    if not grace:
        return paths
    rows = {row.key: row.modified for row in store.list(keys.under("_files"))}
    limit = min(rows.get(announcement, clock.now()), clock.now()) - grace
    return {path for path in paths if rows.get(keys.under(path), limit) <= limit}


def _clear(store: Store, keys: StreamKeys) -> None:
    """Remove announcements of purges that died, a day after them by the store's clock."""
    rows = list(removal.listed(store, keys))
    if not rows:
        return
    now = _store_time(store, keys)
    for one in rows:
        if one.modified < now - removal.OVER:
            store.delete(one.key)


def _store_time(store: Store, keys: StreamKeys) -> datetime:
    """The store's clock, by an announcement of nothing."""
    key = removal.announce(store, keys, REAL.new_id(), ())
    try:
        return next(one.modified for one in removal.listed(store, keys) if one.key == key)
    finally:
        store.delete(key)
