"""Random histories in which folders are deleted and older manifests put back, beside all the rest.

Runs end here, so that the lake knows how far it had come. What is gone is seen by a check and by
a reader, until it is accepted; from then on the lake is as good as any other.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from singerlake.errors import MissingCommits, StaleBookmark
from singerlake.format import keys as key_names
from singerlake.lake import (
    Bookmark,
    Level,
    Selection,
    check,
    continuation,
    log,
    manifest_copy,
    markers,
    rebuild,
)
from singerlake.lake.feed import position
from singerlake.lake.restoring import restore
from singerlake.lake.snapshot import take
from singerlake.store import Store
from tests.faults.history import History
from tests.faults.truth import Violation, visible
from tests.faults.work import TIMES
from tests.lake.landing import KEYS, TAP, overwrite

FOLDERS = st.sampled_from([KEYS.folder, key_names.tap_folder(TAP)])
Accept = Callable[[Store], object]
ACCEPT: st.SearchStrategy[Accept] = st.sampled_from([rebuild, restore])


class Vanishing(History):
    """As every history, with runs that end."""

    def __init__(self) -> None:
        super().__init__()
        self.older: list[bytes] = []
        self.ended = ""
        """The log in which the last run ended; "" where nothing of it is expected any more."""

    @rule(count=st.integers(1, 3))
    def a_whole_run(self, count: int) -> None:
        self.older.append(self.store.read(KEYS.manifest).data)
        writer = self._writer()
        self._commit(self._new(count), writer)
        writer.close()
        writer.end("complete")
        self.ended = self._manifest().log_id

    @precondition(lambda self: self.ended and not self.late and not self.writers)
    @rule(folder=FOLDERS, anew=st.booleans(), accept=ACCEPT)
    def a_folder_is_deleted(self, folder: str, anew: bool, accept: Accept) -> None:
        if self._manifest().log_id != self.ended:
            return  # a rebuild has made it again, and older logs are history
        for row in list(self.store.list(folder)):
            self.store.delete(row.key)
        self.reference.commits, self.bookmarks = [], []
        self.reference.sent.clear()
        if anew:
            self._begin_there()
        self._require_seen(is_empty=not anew)
        accept(self.store)
        if not anew:
            self._begin_there()
        self._require_accepted()

    @precondition(lambda self: self.ended and self.older and not self.late and not self.writers)
    @rule(which=st.integers(0, 9), accept=ACCEPT, files_too=st.booleans())
    def an_older_manifest_is_put_back(self, which: int, accept: Accept, files_too: bool) -> None:
        """With the files that came since, or as a backup has it, without them."""
        older = self.older[which % len(self.older)]
        manifest = log.decode(self.store, KEYS, older)
        if self._manifest().log_id != self.ended or manifest.log_id != self.ended:
            return
        read, late = list(self.reference.numbers), Bookmark(self.log_id, self._sequence())
        wanted = sorted([*read, *self._orphans()])
        rows = {file.path for file in log.files(self.store, KEYS, self._manifest())}
        overwrite(self.store, KEYS.manifest, older)
        known = {file.path for file in log.files(self.store, KEYS, manifest)}
        lost = rows - known if files_too and known <= rows else set()
        for path in lost:
            self.store.delete(KEYS.under(path))
        self._require_seen()
        accept(self.store)
        if not lost and sorted(visible(self.store)) != wanted:
            raise Violation(f"LOST of {wanted}, {visible(self.store)} is there")
        self._begin_anew()
        self._require_accepted()
        while self._sequence() <= late.sequence:
            self._begin_there()
        self._require_exact(late, read)

    def _begin_there(self) -> None:
        self._commit(self._new(1), self._writer())

    def _require_seen(self, is_empty: bool = False) -> None:
        report = check(self.store, times=TIMES)
        if not report.of(Level.ERROR):
            raise Violation("UNSEEN by a check")
        if is_empty:
            with contextlib.suppress(MissingCommits):
                take(self.store, KEYS)
                raise Violation("UNSEEN by a reader")

    def _require_exact(self, late: Bookmark, read: list[int]) -> None:
        """Whoever had read all of it gets what came since, or is refused. Its bookmark is an older
        one, which does not know the commit that it stands at."""
        snapshot = take(self.store, KEYS)
        try:
            position.require(snapshot, late)
        except StaleBookmark:
            return
        rows = snapshot.records(Selection(since=late.sequence))
        if skipped := set(visible(self.store)) - set(read) - {row["id"] for row in rows}:
            raise Violation(f"SKIPPED {skipped}, behind {late}")

    def _require_accepted(self) -> None:
        self.older, self.ended = [], ""
        self._removed()
        report = check(self.store, times=TIMES)
        if report.of(Level.ERROR):
            raise Violation(f"BROKE {report.findings}")


def unmarked() -> contextlib.AbstractContextManager[Any]:
    """What it was: nothing in a lake says what ought to exist."""
    return mock.patch.object(markers, "advance", return_value=None)


@contextlib.contextmanager
def mended_in_the_same_log() -> Iterator[None]:
    """What it was: the numbers are given again under the same log id."""
    with (
        mock.patch.object(continuation, "begin_anew", lambda manifest, *_: manifest),
        mock.patch.object(manifest_copy, "keep", return_value=None),
    ):
        yield
