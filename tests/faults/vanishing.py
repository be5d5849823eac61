"""Random histories in which folders are deleted and older manifests put back, beside all the rest.

Runs end here, so that the lake knows how far it had come. What is gone is seen by a check and by
a reader, until it is accepted; from then on the lake is as good as any other.
"""

from __future__ import annotations

import contextlib
from typing import Any
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from singerlake.errors import MissingCommits
from singerlake.format import keys as key_names
from singerlake.lake import Level, check, log, markers, rebuild
from singerlake.lake.snapshot import take
from tests.faults.history import History
from tests.faults.truth import Violation, visible
from tests.faults.work import TIMES
from tests.lake.landing import KEYS, TAP, overwrite


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
    @rule(folder=st.sampled_from([KEYS.folder, key_names.tap_folder(TAP)]), anew=st.booleans())
    def a_folder_is_deleted(self, folder: str, anew: bool) -> None:
        if self._manifest().log_id != self.ended:
            return  # a rebuild has made it again, and older logs are history
        for row in list(self.store.list(folder)):
            self.store.delete(row.key)
        self.reference.commits, self.bookmarks = [], []
        self.reference.sent.clear()
        if anew:
            self._begin_there()
        self._require_seen(is_empty=not anew)
        rebuild(self.store)
        if not anew:
            self._begin_there()
        self._require_accepted()

    @precondition(lambda self: self.ended and self.older and not self.late and not self.writers)
    @rule(which=st.integers(0, 9))
    def an_older_manifest_is_put_back(self, which: int) -> None:
        older = self.older[which % len(self.older)]
        manifest = log.decode(self.store, KEYS, older)
        if self._manifest().log_id != self.ended or manifest.log_id != self.ended:
            return
        wanted = sorted([*self.reference.numbers, *self._orphans()])
        overwrite(self.store, KEYS.manifest, older)
        self._require_seen()
        rebuild(self.store)
        if sorted(visible(self.store)) != wanted:
            raise Violation(f"LOST of {wanted}, {visible(self.store)} is there")
        self._begin_anew()
        self._require_accepted()

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

    def _require_accepted(self) -> None:
        self.older, self.ended = [], ""
        self._removed()
        report = check(self.store, times=TIMES)
        if report.of(Level.ERROR):
            raise Violation(f"BROKE {report.findings}")


def unmarked() -> contextlib.AbstractContextManager[Any]:
    """What it was: nothing in a lake says what ought to exist."""
    return mock.patch.object(markers, "advance", return_value=None)
