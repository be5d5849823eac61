"""A merge: what a vacuum made one file of, so that no bookmark within it is lost.

The document lies beside the stream's segments and never changes. It is written before the
merged file is committed: a merge that was interrupted is known by it.
"""

from __future__ import annotations

import msgspec

from singerlake.format import document, times
from singerlake.format.document import Count, Moment
from singerlake.format.manifest import File

KIND = "singerlake.merge"


class Retiree(msgspec.Struct, frozen=True, omit_defaults=True):
    """Something that a merge replaces. A file is known by its checksum too: once it is purged,
    another may get its name. Documents and segments have names that never come again.

    `at` is when an earlier merge replaced it. What this merge replaces itself has none: the
    document is written before the commit, so the manifest's row tells the time.
    """

    path: str
    checksum: str = ""
    at: Moment | None = None


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
    parts: tuple[tuple[Count, Count], ...]
    retired: tuple[Retiree, ...]

    def replaces(self, path: str, checksum: str) -> bool:
        """Whether this very file was merged."""
        return any(one.path == path and one.checksum == checksum for one in self.retired)

    def is_of(self, file: File) -> bool:
        """Whether this can be the merge of a row: the parts have each of its numbers, in order,
        and as many lines as there can be."""
        if self.path != file.path:
            return False
        if not self.parts:
            return file.parts == 1
        numbered = enumerate(self.parts, start=file.lowest_sequence)
        return (
            len(self.parts) == file.parts
            and all(sequence == number for number, (sequence, _) in numbered)
            and file.records <= self.lines <= file.raw_bytes
        )

    @property
    def lines(self) -> int:
        """Of all parts."""
        return sum(lines for _, lines in self.parts)

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


def _require(merge: Merge) -> None:
    times.require_utc(one.at for one in merge.retired if one.at is not None)


decode = document.reader(Merge, KIND, require=_require)
