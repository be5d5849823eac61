"""Merging: files that follow each other in a log become one, and not a line changes place.

The merged file and the document that tells its parts are written first. Then one conditional
commit puts it in the place of the others, if every one of them is still listed. They stay in the
store until a purge, so that readers that hold a snapshot read on.
"""

from __future__ import annotations

import uuid
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path

import msgspec

from singerlake.errors import BadName, BusyError, CorruptDocument, CorruptFile, NotFound
from singerlake.format import document
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format import merge as merges
from singerlake.format import seal as seals
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, Manifest, MergeRef, Segment, Version
from singerlake.format.merge import Merge, Retiree
from singerlake.format.origin import Origin
from singerlake.lake import clock, commit, inventory, log, naming, retired, source
from singerlake.lake.joined import Joined
from singerlake.lake.lock import LockTimes
from singerlake.lake.log import Head
from singerlake.lake.naming import Content, Name
from singerlake.lake.overtaken import overtaken
from singerlake.lake.scratch import temporary_folder
from singerlake.store import Promise, Store

RUN_ID = "vacuum"

_RESTORE = (
    "restore the document from a backup; where there is none, docs/operations/recovery.md tells "
    "what to do"
)

FORGET = timedelta(days=14)
"""How long a merge remembers what was replaced and is gone: a slow writer may look for its file,
and a merge that was given up may name it until it is purged. What is there is remembered for
ever, lest it be adopted."""


def read_merge(store: Store, keys: StreamKeys, file: File) -> Merge | None:
    """The document of a merged file; None for a file that was written as it is."""
    if file.merge is None:
        return None
    key = keys.under(file.merge.path)
    where = f"{store.url}/{key}"
    try:
        data = store.read(key).data
    except BadName:
        raise document.corrupt(
            manifests.KIND, f"{store.url}/{keys.manifest}", f"the path {file.merge.path!r}"
        ) from None
    except NotFound:
        gone = CorruptDocument(
            f"{where}: the manifest names this merge, and it is not there; {_RESTORE}"
        )
        raise overtaken(store, keys, file, file.merge.path) or gone from None
    if log.checksum(data) != file.merge.checksum:
        raise CorruptDocument(
            f"{where}: expected the checksum {file.merge.checksum}, found {log.checksum(data)}; "
            f"{_RESTORE}"
        )
    merge = merges.decode(data, where)
    if not merge.is_of(file):
        raise document.corrupt(merges.KIND, where, "other parts than the file's row has")
    return merge


def too_many_lines(where: str, told: int) -> CorruptFile:
    return CorruptFile(
        f"{where}: expected {told} lines, as its merge document tells, found more; {_RESTORE}"
    )


def merge_files(
    store: Store,
    keys: StreamKeys,
    files: Sequence[File],
    level: int,
    writer_id: str,
    superseded: Sequence[str] = (),
) -> File:
    """Write one file with the lines of all of these, and its document; nothing is committed.

    The files follow each other in the log and have one schema. Each is read to its end and
    compared with its checksum: a damaged file is never merged. `superseded` are segments that the
    commit will write anew. Raises `CorruptFile`.
    """
    first, last = files[0], files[-1]
    parts: list[tuple[int, int]] = []
    rows: list[File] = []
    before: list[tuple[MergeRef, Merge]] = []
    with temporary_folder() as folder:
        joined = Joined(Path(folder, "merged"), level, Origin(writer_id, RUN_ID, last.sequence))
        for file in files:
            blocks = source.committed_blocks(store, keys, file)
            lines = joined.add(blocks, keys.under(file.path))
            told = read_merge(store, keys, file)
            parts += told.parts if told and told.parts else [(file.sequence, lines)]
            rows += told.known_rows() if told else [file]
            if file.merge and told:
                before.append((file.merge, told))
        spool = joined.finish()
        name = _name(keys, files)
        replaced = (
            *(Retiree(file.path, file.checksum) for file in files),
            *(Retiree(reference.path) for reference, _ in before),
            *(Retiree(segment) for segment in superseded),
            *_remembered(store, keys, before),
        )
        commits = merges.commits_of(rows)
        reference = MergeRef(path="", checksum="")

        def announce(path: str) -> str:
            nonlocal reference
            made = Merge(path=path, parts=tuple(parts), retired=replaced, commits=commits)
            reference = write_document(
                store, keys, made, first.lowest_sequence, last.sequence, last.check
            )
            return keys.under(reference.path)

        content = Content(spool.finish(), spool.checksum, spool.bytes)
        content = naming.create(store, keys, name, content, announce)
    return File(
        path=name.path(content.checksum),
        sequence=last.sequence,
        first_sequence=first.lowest_sequence,
        records=sum(file.records for file in files),
        bytes=content.bytes,
        raw_bytes=spool.raw_bytes,
        first=name.first,
        last=name.last,
        checksum=content.checksum,
        writer_id=writer_id,
        run_id=RUN_ID,
        committed=last.committed,
        merge=reference,
    )


def _name(keys: StreamKeys, files: Sequence[File]) -> Name:
    # The times are those of records; a file of ACTIVATE_VERSION lines alone has none.
    timed = [file for file in files if file.records] or list(files)
    first, last = min(file.first for file in timed), max(file.last for file in timed)
    return Name(keys.stream, files[0].schema_hash, first, last)


def _remembered(
    store: Store, keys: StreamKeys, before: Sequence[tuple[MergeRef, Merge]]
) -> Iterator[Retiree]:
    """What earlier merges replaced, each with its time, unless it can be forgotten."""
    if not before:
        return
    found = inventory.take(store, keys.tap_id, keys.stream).streams[keys]
    there = {*found.files, *found.merges, *found.segments}
    limit = clock.now() - FORGET
    for reference, merge in before:
        since = retired.replaced_at(reference, found.merges.get(reference.path))
        for one in merge.retired:
            at = one.at or since
            if one.path in there or at > limit:
                yield Retiree(one.path, one.checksum, at)


def write_document(
    store: Store, keys: StreamKeys, merge: Merge, first: int, last: int, check: str
) -> MergeRef:
    """`check` is that of the file that was committed under the last number."""
    data = document.encode(merge)
    path = key_names.merge_path(first, last, uuid.uuid4().hex[:8])
    commit.create_anew(store, keys.under(path), data)
    return MergeRef(path=path, checksum=log.checksum(data), check=check)


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
        rows = [*_opened(store, keys, now.segments, replacements, opened), *now.files]
        first = _telling(store, keys, first, opened)
        rows = _with(rows, [_dated(item, fresh.time) for item in (first, *others)], keys)
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


def _telling(
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


def _dated(item: Replacement, moment: datetime) -> Replacement:
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


def _opened(
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
            yield from _opened(store, keys, content.segments, replacements, opened)
            yield from content.files
        else:
            yield segment


def _with(
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
