"""Revisions: what changed in rows that readers may have read already.

A vacuum, or a rebuild that records lost files, changes older rows and moves no sequence number. A
reader that keeps facts about files learns of such a change by its number: the manifest keeps the
last hundred. Numbers are times, because an older manifest may be put back: what happens to it then
must not get the number of what happened before. An older Singerlake drops both fields of the
manifest when it writes; readers then look at all rows again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone

import msgspec

from singerlake.format.document import Count, Moment

KEPT = 100
"""How many revisions a manifest keeps."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class Revision(msgspec.Struct, frozen=True, kw_only=True):
    """One change of older rows. `kind` is `vacuum`, `erase`, `lost` or `unknown`; a reader takes
    every other word for `unknown`.

    `first_sequence` and `last_sequence` enclose all rows that changed. `after` is the number of the
    change before, 0 where there was none.
    """

    number: Count
    after: Count = 0
    kind: str
    first_sequence: Count
    last_sequence: Count
    commit: str
    time: Moment


def number_at(moment: datetime) -> int:
    """The number of a change at this moment: microseconds since 1970."""
    return max((moment - _EPOCH) // timedelta(microseconds=1), 1)


def since(revisions: Sequence[Revision], seen: int) -> Sequence[Revision] | None:
    """The revisions behind the one that was seen, in order; None where some are not known."""
    for at, one in enumerate(revisions):
        if one.after == seen:
            return revisions[at:]
    return None
