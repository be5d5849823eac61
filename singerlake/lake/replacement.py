"""Replacing: merged files take the place of those they were made from, all in one commit.

The commit goes through only if every replaced file is still listed as it was. Rows that lie in
sealed segments are sealed anew.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice

import msgspec

from singerlake.errors import BusyError
from singerlake.format import manifest as manifests
from singerlake.format import seal as seals
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest, Segment, Version
from singerlake.format.merge import Retiree
from singerlake.lake import commit, log, retired
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import Head
from singerlake.lake.merge import read_merge, write_document
from singerlake.store import Promise, Store


@dataclass(frozen=True)
class Replacement:
    """A merged file, and the rows that it is to stand for."""

    merged: File
    files: tuple[File, ...]


def commit_merges(
    store: Store,
    keys: StreamKeys,
    replacements: Sequence[Replacement],
    writer_id: str,
    times: LockTimes,
    require: Callable[[], None] = lambda: None,
) -> Head:
    """Put merged files in the place of others, all in one commit.

    `require` is called before each put, after the manifest that the put replaces was read; what it
    raises stops the commit. Raises `BusyError` where one of the others is not listed as it was:
    another vacuum was quicker, or a rebuild came between. Nothing has changed then.
    """
    made: list[str] = []
    based_on = ""
    merged = {item.merged.path: item.merged.checksum for item in replacements}
    moved = {file.path: item.merged.path for item in replacements for file in item.files}
    first, *others = replacements

    def update(now: Manifest) -> Manifest:
        nonlocal based_on, first
        if now.commit.id != based_on and store.promise() is Promise.CONDITIONAL:
            # The put that named these required a manifest that is history, and it was never
            # applied, or we were done. So no snapshot needs them, and nothing will name them.
            for path in made:
                store.delete(keys.under(path))
            made.clear()
        based_on = now.commit.id
        require()
        fresh = commit.new_commit(writer_id)
        opened: list[str] = []
        rows = [*_rows_of_touched(store, keys, now.segments, replacements, opened), *now.files]
        first = _with_segments(store, keys, first, opened)
        rows = put_in_place(
            rows, [_with_commit_time(item, fresh.time) for item in (first, *others)], keys
        )
        changed = _sealed_anew(store, keys, now, rows, made)
        files = (row for row in rows if isinstance(row, File))
        versions = manifests.with_paths(_moved(now.versions, moved), files)
        changed = msgspec.structs.replace(changed, commit=fresh, versions=versions)
        lowest = min(item.merged.lowest_sequence for item in replacements)
        highest = max(item.merged.sequence for item in replacements)
        return manifests.revised(changed, "vacuum", lowest, highest)

    def is_done(now: Head) -> bool:
        """Whether it was ever done: the merged files may have been merged again since."""
        rows = list(log.files(store, keys, now.manifest))
        if any(row.path in moved for row in rows):
            return False
        return merged.keys() <= retired.holding(store, keys, rows, merged).keys()

    # The copy from before names files that a purge may remove from now on.
    return commit.replace(
        store, keys, log.read_head(store, keys), update, is_done, times, copies=True
    )


def _moved(versions: dict[str, Version], paths: Mapping[str, str]) -> dict[str, Version]:
    """The versions, where some of their files are in others now: `paths` tells which in which."""
    return {
        schema_hash: msgspec.structs.replace(version, path=paths.get(version.path, version.path))
        for schema_hash, version in versions.items()
    }


def _with_segments(
    store: Store, keys: StreamKeys, first: Replacement, segments: Sequence[str]
) -> Replacement:
    """The first merge, with a document that tells of all the segments that are written anew.

    Writers may have sealed some since the merge began. Readers that hold a snapshot need
    them until the purge, and they are no left-overs.
    """
    merged = first.merged
    told = read_merge(store, keys, merged)
    if told is None or merged.merge is None:
        raise AssertionError(f"{merged.path}: a merge without a document")
    known = {one.path for one in told.retired}
    new = [Retiree(path) for path in segments if path not in known]
    if not new:
        return first
    replaced = (*told.retired, *new, Retiree(merged.merge.path))
    told = msgspec.structs.replace(told, retired=replaced)
    reference = write_document(
        store, keys, told, merged.lowest_sequence, merged.sequence, merged.check
    )
    return Replacement(msgspec.structs.replace(merged, merge=reference), first.files)


def _with_commit_time(item: Replacement, moment: datetime) -> Replacement:
    """The merge with the time of its commit: from then on nobody new needs what it replaces."""
    merged = item.merged
    reference = merged.merge and msgspec.structs.replace(merged.merge, committed=moment)
    return Replacement(msgspec.structs.replace(merged, merge=reference), item.files)


def _sealed_anew(
    store: Store,
    keys: StreamKeys,
    manifest: Manifest,
    rows: Iterable[File | Segment],
    made: list[str],
) -> Manifest:
    """The manifest with these rows; those of touched segments are in new ones."""
    segments: list[Segment] = []
    loose: list[File] = []
    for row in rows:
        if isinstance(row, File):
            loose.append(row)
        else:
            segments += [*_sealed(store, keys, loose, made), row]
            loose = []
    # What follows the last segment stays in the manifest, as far as there is room.
    keep = len(loose) if len(loose) <= 2 * manifests.FAN_OUT else manifests.FAN_OUT
    cut = len(loose) - keep
    segments += _sealed(store, keys, loose[:cut], made)
    return msgspec.structs.replace(manifest, segments=tuple(segments), files=tuple(loose[cut:]))


def touched(segment: Segment, groups: Sequence[Sequence[File]]) -> bool:
    """Whether a segment holds rows of one of these groups of files, which are in log order."""
    at = bisect_left(groups, segment.first_sequence, key=lambda group: group[-1].sequence)
    return at < len(groups) and groups[at][0].lowest_sequence <= segment.last_sequence


def _rows_of_touched(
    store: Store,
    keys: StreamKeys,
    segments: Sequence[Segment],
    replacements: Sequence[Replacement],
    opened: list[str],
) -> Iterator[File | Segment]:
    """The rows of the segments that the merges touch, which `opened` gets; the others as is."""
    groups = [item.files for item in replacements]
    for segment in segments:
        if touched(segment, groups):
            opened.append(segment.path)
            content = log.read_segment(store, keys, segment)
            yield from _rows_of_touched(store, keys, content.segments, replacements, opened)
            yield from content.files
        else:
            yield segment


def put_in_place(
    rows: Iterable[File | Segment], replacements: Sequence[Replacement], keys: StreamKeys
) -> list[File | Segment]:
    """The rows with each merged file in the place of those it was made from."""
    waiting = {item.files[0].path: item for item in replacements}
    merged = {item.merged.path: item for item in replacements}
    placed: list[File | Segment] = []
    left = iter(rows)
    for row in left:
        if row.path in merged:
            raise _no_longer_listed(keys, merged[row.path])
        item = waiting.pop(row.path, None)
        if item is None:
            placed.append(row)
            continue
        # Whole rows: a rebuild may have given the same files other numbers.
        if (row, *islice(left, len(item.files) - 1)) != item.files:
            raise _no_longer_listed(keys, item)
        placed.append(item.merged)
    for item in waiting.values():
        raise _no_longer_listed(keys, item)
    return placed


def _no_longer_listed(keys: StreamKeys, item: Replacement) -> BusyError:
    return BusyError(
        f"{keys.folder}: files {item.files[0].lowest_sequence} to {item.files[-1].sequence} "
        "are not listed any more as they were when their merge began: another vacuum was "
        "quicker, or a rebuild came between. Nothing was changed; run it again if there is still "
        "something to merge"
    )


def _sealed(store: Store, keys: StreamKeys, rows: list[File], made: list[str]) -> Iterator[Segment]:
    size = manifests.FAN_OUT
    for start in range(0, len(rows), size):
        segment = commit.write_segment(
            store, keys, seals.Seal(1, tuple(rows[start : start + size]))
        )
        made.append(segment.path)
        yield segment
