"""Vacuum: many small files of a stream become fewer large ones; nothing else changes.

Only files that follow each other in the log, with one schema, are merged, so that every reader
sees every line in the same order as before, and every bookmark keeps its meaning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from singerlake.errors import BusyError, NotFound
from singerlake.format import compression
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest, Segment
from singerlake.lake import (
    clock,
    commit,
    inventory,
    lock,
    log,
    manifest_copy,
    merge,
    replacement,
    retired,
    uploads,
)
from singerlake.lake.blobs import purge as blob_purge
from singerlake.lake.commit import missing_manifest
from singerlake.lake.identity import new_writer_id
from singerlake.lake.inventory import StreamInventory
from singerlake.lake.lock import LockTimes
from singerlake.lake.parallel import in_parallel
from singerlake.lake.replacement import Replacement
from singerlake.lake.returned import Returned
from singerlake.store import Store

MOST_PARTS = 10_000
"""Sequence numbers in one file: what its document has of each takes about 450 bytes."""

GRACE = timedelta(days=7)
"""How long replaced files are kept for readers that began before the merge."""

AHEAD = timedelta(days=1)
"""How far ahead of the store's clock that of a machine is believed: one that was set wrong must not
end the grace of readers."""

SHORTEST = timedelta(hours=1)
"""Of a shorter grace the command warns: readers of some minutes are overtaken. What is being
committed needs none, because no name of a file comes again."""


@dataclass(frozen=True)
class VacuumOptions:
    """Files smaller than half of `target_bytes` are merged into files of up to that size."""

    target_bytes: int = 128 * 1024 * 1024
    compression_level: int = compression.DEFAULT
    lock: LockTimes = field(default_factory=LockTimes)


@dataclass(frozen=True)
class VacuumReport:
    """What a vacuum of one stream did, or would do."""

    tap_id: str
    stream: str
    files_before: int
    files_after: int
    merged_files: int
    merged_bytes: int


Work = Callable[[tuple[File, ...]], File]
Run = Callable[[Work, Iterable[tuple[File, ...]]], Iterator[File]]
"""How the merges are carried out: beside each other on this machine, or on many."""


def plan(files: Iterable[File], options: VacuumOptions) -> Iterator[tuple[File, ...]]:
    """Groups of files that follow each other and belong together; none of a single file.

    A file is merged only with others that together have half as many records, at least. So
    whenever a record is written again, it is in a file half as large again: that happens a few
    times, not with every vacuum, and what is left between full files grows in size like powers.
    """
    for stretch in _stretches(files, options):
        yield from _balanced(stretch)


def _stretches(files: Iterable[File], options: VacuumOptions) -> Iterator[list[File]]:
    """Files that may become one: neighbours with one schema, and small enough together."""
    stretch: list[File] = []
    size = parts = 0
    for file in files:
        full = file.bytes >= options.target_bytes / 2 or file.parts >= MOST_PARTS / 2
        if stretch and (
            full
            or not _follows(stretch[-1], file)
            or size + file.bytes > options.target_bytes
            or parts + file.parts > MOST_PARTS
        ):
            yield stretch
            stretch, size, parts = [], 0, 0
        if not full:
            stretch.append(file)
            size, parts = size + file.bytes, parts + file.parts
    yield stretch


def _follows(file: File, after: File) -> bool:
    return after.lowest_sequence == file.sequence + 1 and after.schema_hash == file.schema_hash


def _balanced(files: list[File]) -> Iterator[tuple[File, ...]]:
    """All of them, or what stands before and after one that is more than twice the others.

    That one is also more than twice any part of the others, so no group has it. Records are
    counted, not bytes: of a file with few records most bytes are the schema, which a merge drops.
    """
    if len(files) < 2:
        return
    weights = [max(1, file.records) for file in files]
    largest = weights.index(max(weights))
    if weights[largest] <= 2 * (sum(weights) - weights[largest]):
        yield tuple(files)
    else:
        yield from _balanced(files[:largest])
        yield from _balanced(files[largest + 1 :])


def vacuum(
    store: Store,
    keys: StreamKeys,
    options: VacuumOptions,
    *,
    dry_run: bool = False,
    run: Run = in_parallel,
) -> VacuumReport:
    """Merge a stream's small files, in one commit. Raises `BusyError` and `CorruptFile`."""
    manifest = log.read_head(store, keys).manifest
    files = list(log.files(store, keys, manifest))
    groups = list(plan(files, options))
    merged_files = sum(len(group) for group in groups)
    report = VacuumReport(
        tap_id=keys.tap_id,
        stream=keys.stream,
        files_before=len(files),
        files_after=len(files) - merged_files + len(groups),
        merged_files=merged_files,
        merged_bytes=sum(file.bytes for group in groups for file in group),
    )
    if groups and not dry_run:
        writer_id, require = new_writer_id(), _young(keys)
        level = options.compression_level
        superseded = tuple(_touched(store, keys, manifest.segments, groups))
        work = partial(_merge_group, store, keys, level, writer_id, groups[0][0].path, superseded)
        merged = list(run(work, groups))
        require()
        replacements = _paired(merged, groups)
        with ExitStack() as held:
            # Not for safety: beside writers that never pause, the commit would never get its turn.
            for schema_hash in sorted({group[0].schema_hash for group in groups}):
                held.enter_context(
                    lock.held(store, keys.lock(schema_hash), writer_id, options.lock)
                )
            replacement.commit_merges(store, keys, replacements, writer_id, options.lock, require)
    return report


def _young(keys: StreamKeys) -> Callable[[], None]:
    """What raises `BusyError` once a purge may take for left over what is merged from now on.

    By either clock: one stands still while a machine is suspended, the other may be set back.
    """
    began, began_at = time.monotonic(), clock.now()

    def require() -> None:
        took = max(time.monotonic() - began, (clock.now() - began_at).total_seconds())
        if took > GRACE.total_seconds() / 2:
            raise BusyError(
                f"{keys.folder}: the merges took so long that a purge may soon take them for "
                "left-overs; nothing was changed. Use more machines, or vacuum more often"
            )

    return require


def _touched(
    store: Store,
    keys: StreamKeys,
    segments: Iterable[Segment],
    groups: Sequence[tuple[File, ...]],
) -> Iterator[str]:
    """The segments that hold rows to be replaced: they are written anew."""
    for segment in segments:
        if replacement.touched(segment, groups):
            yield segment.path
            below = log.read_segment(store, keys, segment).segments
            yield from _touched(store, keys, below, groups)


def _merge_group(
    store: Store,
    keys: StreamKeys,
    level: int,
    writer_id: str,
    first: str,
    superseded: tuple[str, ...],
    group: tuple[File, ...],
) -> File:
    """The document of the first group tells of the segments too."""
    also = superseded if group[0].path == first else ()
    return merge.merge_files(store, keys, group, level, writer_id, also)


def _paired(merged: Sequence[File], groups: Sequence[tuple[File, ...]]) -> list[Replacement]:
    """Each merged file with its group, whatever the order in which they were done."""
    by_sequence = {file.sequence: file for file in merged}
    return [Replacement(by_sequence[group[-1].sequence], group) for group in groups]


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
