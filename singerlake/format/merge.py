"""A merge: what a vacuum made one file of, so that no bookmark within it is lost.

The document lies beside the stream's segments and never changes. It is written before the
merged file is committed: a merge that was interrupted is known by it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby

import msgspec

from singerlake.format import document, times
from singerlake.format.document import Count, MaybeCount, Moment
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


class Part(msgspec.Struct, frozen=True, array_like=True):
    """A file that was merged, as its row in the manifest had it."""

    committed: Moment
    records: MaybeCount
    bytes: Count
    first: Moment
    last: Moment
    checksum: str


class Commits(msgspec.Struct, frozen=True, kw_only=True):
    """Files that followed each other, of one writer and run: the first has `first_sequence`, each
    other the next number."""

    first_sequence: Count
    writer_id: str
    run_id: str
    parts: tuple[Part, ...]

    @property
    def last_sequence(self) -> int:
        return self.first_sequence + len(self.parts) - 1


class Merge(msgspec.Struct, frozen=True, kw_only=True):
    """`path` is the merged file; `retired` what it replaces: files, documents and segments,
    and of what they had replaced before, as much as was still there.

    `parts` has, for each sequence number that the file bears, how many of its lines (the
    SCHEMA line aside) were committed under it, in order. Older documents have none where a
    rebuild gave new numbers: the file then bears one only.

    `commits` has who committed each number, when and in which run. An older Singerlake kept none
    of that: a number that `commits` lacks was committed by nobody knows whom.
    """

    format: str = KIND
    format_version: int = document.VERSION
    path: str
    parts: tuple[tuple[Count, Count], ...]
    retired: tuple[Retiree, ...]
    commits: tuple[Commits, ...] = ()

    def sources(self) -> dict[int, str]:
        """The checksum of the file that was committed under each number, as far as it is known.

        An older document without `commits` tells it where all that it merged were plain files.
        """
        known = {
            one.first_sequence + at: part.checksum
            for one in self.commits
            for at, part in enumerate(one.parts)
        }
        if len(known) < len(self.parts):
            files = [one.checksum for one in self.retired if one.checksum and one.at is None]
            if len(files) == len(self.parts):
                numbers = (number for number, _ in self.parts)
                known = dict(zip(numbers, files, strict=True)) | known
        return known

    @property
    def tells_sources(self) -> bool:
        """Whether `sources` has every number."""
        return 0 < len(self.parts) == len(self.sources())

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
            and self._has_commits_of(file)
        )

    def _has_commits_of(self, file: File) -> bool:
        last = file.lowest_sequence - 1
        for one in self.commits:
            if one.first_sequence <= last:
                return False
            last = one.last_sequence
        return last <= file.sequence

    def known_rows(self) -> list[File]:
        """The rows of the files that were merged, in order; `path` is the merged file's."""
        return [row for one in self.commits for row in _rows(one, self.path)]

    def check(self) -> str:
        """`File.check` of the file that was committed under the last number."""
        known = self.known_rows()
        is_last = bool(known and self.parts) and known[-1].sequence == self.parts[-1][0]
        return known[-1].check if is_last else ""

    def rows(self, file: File) -> Iterator[File]:
        """The known rows, and for each stretch of other numbers one that stands for all of them:
        with what the known ones leave of the merged file's counts, and with its time."""
        known = self.known_rows()
        if not known:
            yield file
            return
        rest = msgspec.structs.replace(
            file,
            records=max(file.records - sum(max(row.records, 0) for row in known), 0),
            bytes=max(file.bytes - sum(row.bytes for row in known), 0),
        )
        before = file.lowest_sequence
        for row in known:
            if before < row.sequence:
                yield _stretch(rest, before, row.sequence - 1)
                rest = msgspec.structs.replace(rest, records=0, bytes=0)
            yield row
            before = row.sequence + 1
        if before <= file.sequence:
            yield _stretch(rest, before, file.sequence)

    def numbered_from(self, first: int) -> Merge:
        """The same merge in a log where its file bears the numbers from `first` on."""
        if not self.parts:
            return self
        offset = first - self.parts[0][0]
        moved = (
            msgspec.structs.replace(one, first_sequence=one.first_sequence + offset)
            for one in self.commits
        )
        parts = tuple((sequence + offset, lines) for sequence, lines in self.parts)
        return msgspec.structs.replace(self, parts=parts, commits=tuple(moved))

    @property
    def lines(self) -> int:
        """Of all parts."""
        return sum(lines for _, lines in self.parts)

    def line_ranges(self, wanted: Callable[[int], bool]) -> list[tuple[int, int]]:
        """The lines of the wanted numbers: how many lines are before each range, and how many are
        in it. Ranges that touch are one."""
        ranges: list[tuple[int, int]] = []
        passed = 0
        for sequence, lines in self.parts:
            if lines and wanted(sequence):
                skip, take = ranges[-1] if ranges else (-1, 0)
                if skip + take == passed and ranges:
                    ranges[-1] = (skip, take + lines)
                else:
                    ranges.append((passed, lines))
            passed += lines
        return ranges


def commits_of(rows: Iterable[File]) -> tuple[Commits, ...]:
    """What a merge document keeps of the rows of plain files, which are in log order."""

    def key(numbered: tuple[int, File]) -> tuple[int, str, str]:
        index, row = numbered
        return row.sequence - index, row.writer_id, row.run_id

    return tuple(
        _commits([row for _, row in group]) for _, group in groupby(enumerate(rows), key=key)
    )


def _commits(rows: Sequence[File]) -> Commits:
    first = rows[0]
    parts = (
        Part(row.committed, row.records, row.bytes, row.first, row.last, row.checksum)
        for row in rows
    )
    return Commits(
        first_sequence=first.sequence,
        writer_id=first.writer_id,
        run_id=first.run_id,
        parts=tuple(parts),
    )


def _rows(commits: Commits, path: str) -> Iterator[File]:
    for sequence, part in enumerate(commits.parts, start=commits.first_sequence):
        yield File(
            path=path,
            sequence=sequence,
            records=part.records,
            bytes=part.bytes,
            raw_bytes=-1,
            first=part.first,
            last=part.last,
            checksum=part.checksum,
            writer_id=commits.writer_id,
            run_id=commits.run_id,
            committed=part.committed,
        )


def _stretch(file: File, first: int, last: int) -> File:
    reference = file.merge
    if reference is not None and last != file.sequence:
        # Its digits are those of the file's last number.
        reference = msgspec.structs.replace(reference, check="")
    return msgspec.structs.replace(
        file,
        first_sequence=first if first < last else 0,
        sequence=last,
        raw_bytes=-1,
        merge=reference,
    )


def _require(merge: Merge) -> None:
    times.require_utc(one.at for one in merge.retired if one.at is not None)
    parts = [part for one in merge.commits for part in one.parts]
    times.require_utc([part.committed for part in parts])
    times.require_utc([part.first for part in parts])
    times.require_utc([part.last for part in parts])
    if not all(one.parts for one in merge.commits):
        raise ValueError("commits without parts")


decode = document.reader(Merge, KIND, require=_require)
