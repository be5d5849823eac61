"""Random histories in which metadata of a backup is put back, merged files are lost, and jobs die.

Whoever kept a bookmark across the mending reads each record once, or is refused.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from singerlake.errors import StaleBookmark, Unavailable
from singerlake.format import keys as key_names
from singerlake.format.keys import RunKeys
from singerlake.format.manifest import File
from singerlake.lake import (
    Bookmark,
    adoption,
    check,
    inventory,
    log,
    noted,
    reapplied,
    rebuild,
    retired,
    uploads,
)
from singerlake.lake.purging import purge
from singerlake.lake.restoring import restore
from singerlake.store import Store
from tests.faults.history import NOW, History
from tests.faults.reference import DyingPurge
from tests.faults.truth import Violation, visible
from tests.faults.work import TIMES
from tests.lake.landing import KEYS, STREAM, TAP, overwrite
from tests.lake.test_uploads import Job

Mend = Callable[[Store], object]
MENDS: st.SearchStrategy[Mend] = st.sampled_from([rebuild, restore])
METADATA = (KEYS.manifest, KEYS.manifest_copy, key_names.catalogue(TAP), RunKeys(TAP).log)
DELETES = st.none() | st.integers(0, 3)


@dataclass
class Backup:
    """Documents, and the log and the records that were there."""

    documents: dict[str, bytes]
    log_id: str
    numbers: list[int]


class PutBack(History):
    """As every history, with runs that end, jobs, and consumers that keep their bookmarks."""

    waiting: ClassVar[set[str]] = {"orphan-upload"}

    def __init__(self) -> None:
        super().__init__()
        self.backups: list[Backup] = []
        self.kept: list[tuple[Bookmark | None, list[int]]] = []
        self.killed: list[Job] = []
        self.of_jobs: set[int] = set()

    @rule()
    def read_and_keep_a_bookmark(self) -> None:
        stream = self.lake.stream(TAP, STREAM)
        self.kept.append((stream.increment().until, list(self.reference.numbers)))

    @rule(count=st.integers(1, 3))
    def a_whole_run_and_a_backup(self, count: int) -> None:
        writer = self._writer()
        for number in self._new(count):
            self._commit([number], writer)
        writer.close()
        writer.end("complete")
        there = {row.key for row in self.store.list("")}
        documents = {key: self.store.read(key).data for key in METADATA if key in there}
        self.backups.append(Backup(documents, self.log_id, list(self.reference.numbers)))
        self.read_and_keep_a_bookmark()

    @precondition(lambda self: not self.late)
    @rule(mend=st.none() | MENDS, is_killed=st.booleans())
    def a_job(self, mend: Mend | None, is_killed: bool) -> None:
        """Of two tasks, of which one is tried twice; somebody may mend the lake meanwhile."""
        job, (one, other) = Job(self.store), self._new(2)
        self.of_jobs |= {one, other}
        job.upload(one)
        job.files = [job.upload(one, attempt=1), job.upload(other)]
        if mend is not None:
            self._mend(mend)
        job.commit_only()
        self._acknowledge([one])
        self._acknowledge([other])
        if is_killed:
            self.killed.append(job)
        else:
            self._clear(job)

    @precondition(lambda self: self.backups and not self.late and not self.writers)
    @rule(which=st.integers(0, 9), mend=MENDS, deletes=DELETES)
    def metadata_is_put_back(self, which: int, mend: Mend, deletes: int | None) -> None:
        """Over the files as they are now; and a purge may go by it, and die."""
        backup = self.backups[which % len(self.backups)]
        if backup.log_id != self._manifest().log_id:
            return
        self._clear_all_but(set(backup.numbers))
        wanted = [*self.reference.numbers, *self._orphans()]
        for key, data in backup.documents.items():
            overwrite(self.store, key, data)
        if deletes is not None:
            with contextlib.suppress(Unavailable):
                purge(DyingPurge(self.store, deletes), KEYS, NOW, abandoned=NOW)
        self._mend(mend, wanted)

    @precondition(lambda self: not self.late and not self.writers)
    @rule(mend=MENDS, document_too=st.booleans())
    def a_merged_file_is_lost(self, mend: Mend, document_too: bool) -> None:
        """While all that it was made from still waits for the purge."""
        if document_too:
            self._clear_all_but(set())
        found = inventory.take(self.store, TAP, STREAM).streams[KEYS]
        merged = [row for row in log.files(self.store, KEYS, self._manifest()) if row.merge]
        for row in merged:
            wanted = [*self.reference.numbers, *self._orphans()]
            if row.merge is None or not _sources(self.store, row) <= found.files.keys():
                continue
            self.store.delete(KEYS.under(row.path))
            if document_too:
                self.store.delete(KEYS.under(row.merge.path))
            self._mend(mend, wanted)
            return

    def _mend(self, mend: Mend, wanted: list[int] | None = None) -> None:
        """All that is wanted is there once then, and whoever kept a bookmark has no more of it."""
        if wanted is None:
            wanted = [*self.reference.numbers, *self._orphans()]
        mend(self.store)
        there = visible(self.store)
        if len(there) > len(set(there)):
            raise Violation(f"TWICE {there}, of {wanted}")
        if sorted(there) != sorted(wanted):
            raise Violation(f"LOST of {wanted}, {there} is there")
        for bookmark, read in self.kept:
            self._require_exact(bookmark, read, there)
        self._begin_anew()
        self.kept.clear()
        self.backups.clear()
        check(self.store, fix=True, times=TIMES)

    def _require_exact(self, bookmark: Bookmark | None, read: list[int], there: list[int]) -> None:
        try:
            increment = self.lake.stream(TAP, STREAM).increment(bookmark)
        except StaleBookmark:
            return
        rows = [row["id"] for row in increment.snapshot.records(increment.selection)]
        if again := set(read) & set(rows):
            raise Violation(f"REPEATED {again}, behind {bookmark}")
        if skipped := set(there) - set(read) - set(rows):
            raise Violation(f"SKIPPED {skipped}, behind {bookmark}")

    def _clear_all_but(self, numbers: set[int]) -> None:
        """Of the jobs that were killed only these stay so: nothing will tell of the others what
        they have committed."""
        for job in self.killed:
            if not self._numbers_of(job) <= numbers:
                self._clear(job)
        self.killed.clear()

    def _clear(self, job: Job) -> None:
        uploads.clear(self.store, KEYS, job.id, {file.path for file in job.files}, job.since)

    def _numbers_of(self, job: Job) -> set[int]:
        return {file.first.second + 60 * file.first.minute for file in job.files}

    def _orphans(self) -> list[int]:
        """Without those that wait for a job, or for the purge."""
        return [number for number in super()._orphans() if number not in self.of_jobs]


def _sources(store: Store, row: File) -> set[str]:
    """The paths of what a merge was made from."""
    assert row.merge is not None
    (merge,) = retired.read_all(store, KEYS, [row.merge.path]).values()
    return {one.path for one in merge.retired if one.checksum and one.at is None}


def noted_files_taken() -> contextlib.AbstractContextManager[Any]:
    """What it was: the files of jobs are adopted where the log is begun anew."""

    def left_out(store: Any, found: Any, known: Any) -> set[str]:
        return {note.file for note in found.notes} if known.is_whole else set()

    return mock.patch.object(noted, "left_out", left_out)


def lines_that_come_back() -> contextlib.AbstractContextManager[Any]:
    """What it was: lines of a gap get other numbers, and the log goes on."""
    return mock.patch.object(adoption, "come_back", return_value=[])


@contextlib.contextmanager
def merges_known_by_documents() -> Iterator[None]:
    """What it was: a merged row whose document is gone is no source of the merge behind it."""
    with lines_that_come_back(), mock.patch.object(reapplied, "_has_last_of", return_value=False):
        yield


@contextlib.contextmanager
def lost_merges_are_gaps() -> Iterator[None]:
    """What it was: what a lost merged file was made from gets other numbers."""
    with lines_that_come_back(), mock.patch.object(reapplied, "_apart", return_value=[]):
        yield
