"""Vacuum: many small files of a stream become fewer large ones; nothing else changes.

Only files that follow each other in the log, with one schema, are merged, so that every reader
sees every line in the same order as before, and every bookmark keeps its meaning.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from singerlake.errors import BusyError
from singerlake.format import compression
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Segment
from singerlake.lake import (
    clock,
    lock,
    log,
    merge,
    replacement,
)
from singerlake.lake.identity import new_writer_id
from singerlake.lake.lock import LockTimes
from singerlake.lake.parallel import in_parallel
from singerlake.lake.purging import GRACE
from singerlake.lake.replacement import Replacement
from singerlake.store import Store

MOST_PARTS = 10_000
"""Sequence numbers in one file: what its document has of each takes about 450 bytes."""


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
