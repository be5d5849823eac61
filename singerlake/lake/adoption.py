"""Rows for files that no log names: a merged one gets new numbers, and a document that has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge, Retiree
from singerlake.lake import merge, retired
from singerlake.lake.alone import Alone, of_merge
from singerlake.store import Store

Numbering = Callable[[Sequence[File], int], list[File]]
"""Gives entries the numbers from a first one on."""


def numbering(store: Store, keys: StreamKeys, alone: Mapping[str, Alone]) -> Numbering:
    """How orphans are numbered: a merged file gets as many numbers as it has parts.

    Its new document says which number each part has now, and keeps who committed it, when, and
    in which run. The document is written with the numbers, so another first number makes another.
    """

    def number(entries: Sequence[File], first: int) -> list[File]:
        rows: list[File] = []
        for entry in entries:
            row = entry.numbered(first)
            if one := alone.get(entry.path):
                told = one.merge.numbered_from(first)
                parts = max(len(told.parts), 1)
                reference = renewed(store, keys, one.document, told, first)
                row = msgspec.structs.replace(
                    entry, first_sequence=1, sequence=parts, merge=reference
                ).numbered(first)
            rows.append(row)
            first = row.sequence + 1
        return rows

    return number


def renewed(store: Store, keys: StreamKeys, old_path: str, told: Merge, first: int) -> MergeRef:
    """The document of a merged file that bears the numbers from `first` on."""
    made = msgspec.structs.replace(told, retired=(*told.retired, Retiree(old_path)))
    last = first + max(len(told.parts), 1) - 1
    return merge.write_document(store, keys, made, first, last, made.check())


def come_back(
    store: Store, keys: StreamKeys, gone: Sequence[File], adopted: Sequence[File]
) -> list[File]:
    """The rows of files that are gone, whose lines are among the adopted: with other numbers, so
    that whoever has read them would read them again.

    Where a merge does not tell what it was made from, it may have been any of these.
    """
    if not gone or not adopted:
        return []
    merged = [row.merge.path for row in (*gone, *adopted) if row.merge is not None]
    documents = retired.read_all(store, keys, merged)
    back = [_lines_of(row, documents) for row in adopted]
    return [row for row in gone if _may_share(_lines_of(row, documents), back)]


def _lines_of(row: File, documents: Mapping[str, Merge]) -> set[str]:
    """The checksums of what a row stands for; none, where nobody knows."""
    if row.merge is None:
        return {row.checksum}
    told = documents.get(row.merge.path)
    return of_merge(told) if told is not None and told.tells_sources else set()


def _may_share(lines: set[str], others: Iterable[set[str]]) -> bool:
    return any(not lines or not other or lines & other for other in others)
