"""Merges put back in the place of their sources, or sources in the place of their merge.

Where the manifest is an older one, a vacuum may have committed merges behind it, and a purge have
deleted what they were made from since. Where a merged file is lost, what it was made from may
still wait for the purge. Either has the same lines under the same numbers, so that nobody who read
these has to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from singerlake.errors import NotFound
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge
from singerlake.lake import adoption, log, retired
from singerlake.store import Store


def with_merges(
    store: Store,
    keys: StreamKeys,
    files: Sequence[File],
    there: Mapping[str, File],
    merges: Iterable[str],
) -> list[File]:
    """The rows of a log; where some of their files are not `there` (by path), and others are that
    stand for the same numbers, the rows of these instead. `merges` are the documents that lie in
    the store.

    The last merge may go on behind the rows: it was made from the same log.
    """
    merges = list(merges)
    listed = _documented(store, keys, files, merges)
    if not files or all(row.path in there for row in files):
        return listed
    known = retired.read_all(store, keys, merges)
    rows: list[File] = []
    for row in _merged(store, keys, listed, there, known, files[-1].sequence):
        rows += _apart(store, keys, row, there, known) or [row]
    return rows


def _documented(
    store: Store, keys: StreamKeys, files: Sequence[File], merges: Iterable[str]
) -> list[File]:
    """The rows; where the document of one is lost, and another of its file is there, with a new one
    that is made from that."""
    committed = {row.merge.path: row for row in files if row.merge is not None}
    documents = retired.read_all(store, keys, committed)
    made: dict[str, File] = {}
    for lost, (path, told) in retired.standing_in(
        store, keys, committed, documents, merges
    ).items():
        row = committed[lost]
        first = row.lowest_sequence
        reference = adoption.renewed(store, keys, path, told.numbered_from(first), first)
        made[lost] = msgspec.structs.replace(row, merge=reference)
    return [made.get(row.merge.path, row) if row.merge is not None else row for row in files]


def _merged(
    store: Store,
    keys: StreamKeys,
    files: Sequence[File],
    there: Mapping[str, File],
    known: Mapping[str, Merge],
    end: int | None,
) -> list[File]:
    """The rows, with merges in the place of those whose files are not there. `end` is the last
    number of their log, behind which a merge may go on; None where other rows follow these."""
    rows = list(files)
    named = {row.merge.path for row in rows if row.merge is not None}
    for path, merge in sorted(known.items(), key=lambda item: -len(item[1].parts)):
        if path in named or merge.path not in there or not merge.tells_sources:
            continue
        first, last = merge.parts[0][0], merge.parts[-1][0]
        begin = next((at for at, row in enumerate(rows) if row.sequence >= first), len(rows))
        after = next((at for at, row in enumerate(rows) if row.sequence > last), len(rows))
        held = rows[begin:after]
        is_needed = any(row.path not in there for row in held)
        if is_needed and _are_sources(held, merge, known, end):
            rows[begin:after] = [_row(store, keys, path, merge, there[merge.path], held)]
    return rows


def _are_sources(
    held: Sequence[File], merge: Merge, known: Mapping[str, Merge], end: int | None
) -> bool:
    """Whether rows have the numbers of a merge up to the last known one, with the same commits."""
    sources = merge.sources()
    numbers: dict[int, str] = {}
    for row in held:
        if row.merge is None:
            numbers[row.sequence] = row.checksum
        elif row.merge.path in known:
            numbers |= known[row.merge.path].sources()
        elif _has_last_of(merge, row):
            span = range(row.lowest_sequence, row.sequence + 1)
            numbers |= {number: sources.get(number, "") for number in span}
    return numbers == {
        number: one for number, one in sources.items() if end is None or number <= end
    }


def _has_last_of(merge: Merge, row: File) -> bool:
    """Whether the last commit of a merged row, whose document is gone, is one of a merge: then all
    of them are. A commit keeps its digits in every merge, and a merge its numbers' order."""
    last = (one.check for one in merge.known_rows() if one.sequence == row.sequence)
    return next(last, "") == row.check != ""


def _row(
    store: Store, keys: StreamKeys, path: str, merge: Merge, file: File, held: Sequence[File]
) -> File:
    checksum = log.checksum(store.read(keys.under(path)).data)
    return msgspec.structs.replace(
        file,
        first_sequence=merge.parts[0][0] if len(merge.parts) > 1 else 0,
        sequence=merge.parts[-1][0],
        committed=held[-1].committed,
        merge=MergeRef(path=path, checksum=checksum, check=merge.check()),
    )


def _apart(
    store: Store,
    keys: StreamKeys,
    row: File,
    there: Mapping[str, File],
    known: Mapping[str, Merge],
) -> list[File]:
    """The rows of what a merge was made from, where its file is gone and they are all there: as
    they were committed, or in a merge that was merged again. None where they are not."""
    merge = known.get(row.merge.path) if row.merge is not None else None
    if merge is None or row.path in there or not merge.is_of(row):
        return []
    paths = {one.checksum: one.path for one in merge.retired if one.checksum}
    plain = [
        _as_committed(there.get(paths.get(one.checksum, ""), one), one)
        for one in merge.known_rows()
    ]
    if len(plain) < row.parts or not _is_gone(store, keys, row):
        return []
    rows = _merged(store, keys, plain, there, known, None)
    return rows if all(_is_same(one, there) for one in rows) else []


def _as_committed(file: File, known: File) -> File:
    """The row of a file as it was before it was merged. Where the file is another, or not there,
    it is one that nobody will find."""
    if file.checksum != known.checksum:
        file = known
    return msgspec.structs.replace(
        file,
        sequence=known.sequence,
        committed=known.committed,
        writer_id=known.writer_id,
        run_id=known.run_id,
    )


def _is_same(row: File, there: Mapping[str, File]) -> bool:
    return row.path in there and there[row.path].checksum == row.checksum


def _is_gone(store: Store, keys: StreamKeys, row: File) -> bool:
    """Whether a merged file is really gone, and not younger than the listing: then a purge may be
    about to delete what it was made from."""
    try:
        store.size(keys.under(row.path))
    except NotFound:
        return True
    return False
