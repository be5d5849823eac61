"""Rows for merged files that no log names: each gets new numbers, and a document that has them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import msgspec

from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge, Retiree
from singerlake.lake import merge
from singerlake.lake.alone import Alone
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
