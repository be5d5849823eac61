"""Merging: files that follow each other in a log become one, and not a line changes place.

The merged file and the document that tells its parts are written first. Then one conditional
commit puts it in the place of the others, if every one of them is still listed. They stay in the
store until a purge, so that readers that hold a snapshot read on.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from singerlake.errors import BadName, CorruptDocument, CorruptFile, NotFound
from singerlake.format import document
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format import merge as merges
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge, Retiree
from singerlake.format.origin import Origin
from singerlake.lake import clock, commit, inventory, log, naming, retired, source
from singerlake.lake.joined import Joined
from singerlake.lake.naming import Content, Name
from singerlake.lake.overtaken import overtaken
from singerlake.lake.scratch import temporary_folder
from singerlake.store import Store

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
