"""A merge: what a vacuum made one file of, so that no bookmark within it is lost.

The document lies beside the stream's segments and never changes. It is written before the
merged file is committed: a merge that was interrupted is known by it.
"""

from __future__ import annotations

from datetime import datetime

import msgspec

from singerlake.format import document

KIND = "singerlake.merge"


class Retiree(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a merge replaces. A file is known by its checksum too: once it is purged,
    another may get its name. Documents and segments have names that never come again.

    `at` is when an earlier merge replaced it. What this merge replaces itself has none: the
    document is written before the commit, so the manifest's row tells the time.
    """

    path: str
    checksum: str = ""
    at: datetime | None = None


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is the merged file; `retired` what it replaces: files, documents and segments,
    and of what they had replaced before, as much as was still there.

    `parts` has, for each sequence number that the file bears, how many of its lines (the
    SCHEMA line aside) were committed under it, in order. It is empty where a rebuild gave
    new numbers: the file then bears one only.
    """

    format: str = KIND
    format_version: int = document.VERSION
    path: str
    parts: tuple[tuple[int, int], ...]
    retired: tuple[Retiree, ...]

    def replaces(self, path: str, checksum: str) -> bool:
        """Whether this very file was merged."""
        return any(one.path == path and one.checksum == checksum for one in self.retired)

    def lines_between(self, since: int, until: int | None) -> tuple[int, int]:
        """How many lines to skip, and how many to take, for the numbers after `since`, up to
        `until`."""
        skip = sum(lines for sequence, lines in self.parts if sequence <= since)
        take = sum(
            lines
            for sequence, lines in self.parts
            if sequence > since and (until is None or sequence <= until)
        )
        return skip, take


decode = document.reader(Merge, KIND)
