"""Revisions: what changed in rows that readers may have read already.

A vacuum, or a rebuild that records lost files, changes older rows and moves no sequence number. A
reader that keeps facts about files learns of such a change by its number: the manifest keeps the
last hundred. An older Singerlake drops both fields of the manifest when it writes; the next change
then gets a number that no reader has seen, so that every reader looks at all rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from itertools import islice

import msgspec

from singerlake.format.document import Count, Moment

KEPT = 100
"""How many revisions a manifest keeps."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One change of older rows. `kind` is `vacuum`, `erase`, `lost` or `unknown`; a reader takes
    every other word for `unknown`.

    `first_sequence` and `last_sequence` enclose all rows that changed.
    """

    number: Count
    kind: str
    first_sequence: Count
    last_sequence: Count
    commit: str
    time: Moment


def next_number(newest: int | None, moment: datetime) -> int:
    """The number of the next revision; `newest` is None where an older Singerlake dropped it."""
    if newest is not None:
        return newest + 1
    return int((moment - _EPOCH).total_seconds() * 1_000_000)


def since(revisions: Sequence[Revision], newest: int, seen: int) -> list[Revision] | None:
    """The revisions above `seen`, in order; None where some of them are not known any more."""
    missing = newest - seen
    if not 0 <= missing <= len(revisions):
        return None
    found = list(islice(revisions, len(revisions) - missing, None))
    return found if [one.number for one in found] == list(range(seen + 1, newest + 1)) else None
