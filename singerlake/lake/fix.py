"""Mending what a check found, by the means that are safe beside writers at work.

No Singer file is ever deleted. An orphan is a whole file whose commit was interrupted: it is
adopted, as the newest of its stream. Its records may then be there twice (at least once is what
the lake promises), and a writer that was only slow finds its commit done.
"""

from __future__ import annotations

from collections.abc import Set
from datetime import timedelta

from singerlake.errors import Changed, NotFound
from singerlake.format import keys as key_names
from singerlake.format.keys import RunKeys, StreamKeys
from singerlake.format.manifest import File, Manifest
from singerlake.lake import (
    adoption,
    commit,
    cutting,
    evidence,
    examined,
    inventory,
    log,
    manifest_copy,
    markers,
    orphan_segments,
    rebuilding,
    repair,
    retired,
    scratch,
)
from singerlake.lake.finding import Finding
from singerlake.lake.identity import new_writer_id
from singerlake.lake.inventory import Inventory, ListedFile, StreamInventory
from singerlake.lake.lock import LockTimes
from singerlake.lake.runs import mending
from singerlake.store import Store, Stored

SWEEP_AGE = timedelta(days=1)
"""How old a crashed upload's hidden leftovers must be before they are removed."""


def fix(
    store: Store,
    found: Inventory,
    findings: list[Finding],
    stale_locks: dict[str, Stored],
    times: LockTimes,
) -> list[str]:
    """Mend every fixable finding; says, a line each, what was done."""
    codes = {finding.code for finding in findings if finding.fixable}
    keys = {finding.key for finding in findings if finding.fixable}
    done: list[str] = []
    for one in found.streams.values():
        done += _fix_stream(store, one, keys, times)
    for tap_id in sorted(found.runs):
        done += _fix_runs(store, RunKeys(tap_id), keys, times)
    done += _fix_catalogues(store, found, keys)
    if codes & {"lake-document-missing", "lake-document-corrupt", "lake-document-tap"}:
        copies = repair.repair_lake_document(store, found)
        done += ["registered the taps in the lake document", *_kept(copies)]
    done += [_remove_lock(store, key, lock) for key, lock in stale_locks.items()]
    swept = store.sweep(SWEEP_AGE, key_names.ROOT)
    if spools := store.spool_folder():
        swept += scratch.sweep(spools)
    return done + ([f"removed {swept} leftovers of uploads"] if swept else [])


def _fix_stream(
    store: Store, found: StreamInventory, wrong: set[str], times: LockTimes
) -> list[str]:
    keys = found.keys
    if keys.manifest in wrong:
        places = evidence.with_markers(store, [keys.tap_id])
        mine = places.get((keys.tap_id, keys.stream), [])
        report, _ = rebuilding.rebuild_stream(store, found, places=mine)
        if report.streams:
            markers.settle_where_reached(store, keys)
        done = [f"rebuilt {keys.manifest}"] if report.streams else []
        done += [f"gave new numbers to the files of {folder}" for folder in report.renumbered]
        done += [f"began a new log for {what}" for what in report.continued]
        return done + [f"left out {error}" for error in report.skipped]
    done = []
    if keys.manifest_copy in wrong:
        manifest_copy.keep(store, keys, log.read_head(store, keys).manifest)
        done.append(f"copied {keys.manifest} again")
    orphans = [file for file in found.files.values() if keys.under(file.path) in wrong]
    if orphans:
        adopted = _adopt(store, keys, orphans, times)
        done += [f"adopted {keys.under(entry.path)}" for entry in adopted]
    if any(keys.under(path) in wrong for path in found.segments):
        listed = orphan_segments.list_all(store, keys)
        # So that no sleeping writer's put can name one.
        head = commit.touch(store, keys, new_writer_id(), times)
        removed = orphan_segments.remove(store, keys, listed, head.manifest)
        done.append(f"removed {removed} segments that nothing names from {keys.folder}")
    return done


def _adopt(
    store: Store, keys: StreamKeys, orphans: list[ListedFile], times: LockTimes
) -> list[File]:
    """Add what can be added of these to the log; returns their rows.

    What that is is looked at again before each put: a writer or another fix may have added some, a
    vacuum may have merged them, and a purge may have removed a merged file, document and all.
    """
    writer_id = new_writer_id()
    reads = {file.path: examined.examine(store, keys, file) for file in orphans}
    digests = examined.digests(keys, reads.values())
    rows = {path: read.entry for path, read in reads.items()}
    now, _ = _left(store, keys, log.read_head(store, keys).manifest)
    cut, alone = cutting.cut_all(store, keys, now.alone, rows, writer_id)
    entries = [read.entry for read in sorted(reads.values(), key=lambda read: read.place)]
    whole = [entry for entry in entries if entry.path not in now.not_whole]

    def may_come(manifest: Manifest) -> Set[str]:
        gone, listed = _left(store, keys, manifest)
        if gone.lost:
            return frozenset()
        others = gone.replaced | gone.uncommitted | gone.stood_for | gone.not_whole
        ours = {entry.path for entry in (*whole, *cut)}
        return {path for path in (ours & listed) - others if _is_there(store, keys.under(path))}

    return commit.adopt(
        store,
        keys,
        [*whole, *cut],
        digests,
        writer_id,
        times,
        may_come=may_come,
        number=adoption.numbering(store, keys, alone),
    )


def _is_there(store: Store, key: str) -> bool:
    """Whether a file still lies there: a purge removes a merged file before the document by which
    it is known for one."""
    try:
        store.size(key)
    except NotFound:
        return False
    return True


def _left(store: Store, keys: StreamKeys, manifest: Manifest) -> tuple[retired.Retired, Set[str]]:
    """What is retired or was never committed, by a listing from now; and which files there are."""
    found = inventory.take(store, keys.tap_id, keys.stream).streams.get(keys)
    if found is None:
        return retired.Retired(), frozenset()
    found.merges |= retired.list_merges(store, keys)
    return retired.find(store, found, log.files(store, keys, manifest)), found.files.keys()


def _fix_runs(store: Store, keys: RunKeys, wrong: set[str], times: LockTimes) -> list[str]:
    mine = {key for key in wrong if key.startswith(f"{keys.folder}/")}
    segments = {key for key in mine if key.startswith(keys.under("_segments/"))}
    done = []
    if mine - segments:
        mended = mending.rebuild(store, keys, times)
        if mended.renumbered:
            done.append(f"made {keys.log} again, with {mended.rows} rows")
        elif mended.added:
            done.append(f"added {mended.added} rows to {keys.log}")
    if segments:
        removed = mending.remove_orphan_segments(store, keys, times)
        done.append(f"removed {removed} segments that nothing names from {keys.folder}")
    return done


def _fix_catalogues(store: Store, found: Inventory, wrong: set[str]) -> list[str]:
    taps = [tap for tap in sorted(found.tap_ids()) if key_names.catalogue(tap) in wrong]
    if not taps:
        return []
    copies = [copy for tap in taps for copy in repair.complete_catalogue(store, tap)]
    return ["registered the streams in their catalogues", *_kept(copies)]


def _kept(copies: list[str]) -> list[str]:
    return [f"kept an unreadable document as {key}" for key in copies]


def _remove_lock(store: Store, key: str, lock: Stored) -> str:
    try:
        store.delete_if(key, lock.version)
    except Changed:
        return f"left {key}: it is in use again"
    return f"removed the stale lock {key}"
