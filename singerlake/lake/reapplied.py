"""Merges that were committed behind what is known of a log, put back in the place of their sources.

A vacuum committed them, and a purge may have deleted what they were made from since. They have the
same lines under the same numbers, so that nobody who read these has to know.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge
from singerlake.lake import log, retired
from singerlake.store import Store


def with_merges(
    store: Store,
    keys: StreamKeys,
    files: Sequence[File],
    there: Mapping[str, File],
    merges: Iterable[str],
) -> list[File]:
    """The rows of a log; where some of their files are not `there` (by path), and a merged file is
    that stands for them, its row instead. `merges` are the documents that lie in the store.

    The last merge may go on behind the rows: it was made from the same log.
    """
    rows = list(files)
    if not rows or all(row.path in there for row in rows):
        return rows
    known = retired.read_all(store, keys, merges)
    named = {row.merge.path for row in rows if row.merge is not None}
    for path, merge in sorted(known.items(), key=lambda item: -len(item[1].parts)):
        if path in named or merge.path not in there or not merge.tells_sources:
            continue
        first, last = merge.parts[0][0], merge.parts[-1][0]
        begin = next((at for at, row in enumerate(rows) if row.sequence >= first), len(rows))
        end = next((at for at, row in enumerate(rows) if row.sequence > last), len(rows))
        held = rows[begin:end]
        is_needed = any(row.path not in there for row in held)
        if is_needed and _are_sources(held, merge, known, rows[-1].sequence):
            rows[begin:end] = [_row(store, keys, path, merge, there[merge.path], held)]
    return rows


def _are_sources(held: Sequence[File], merge: Merge, known: Mapping[str, Merge], last: int) -> bool:
    """Whether rows have the numbers of a merge up to the last known one, with the same commits."""
    numbers: dict[int, str] = {}
    for row in held:
        if row.merge is None:
            numbers[row.sequence] = row.checksum
        elif row.merge.path in known:
            numbers |= known[row.merge.path].sources()
    return numbers == {number: one for number, one in merge.sources().items() if number <= last}


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
