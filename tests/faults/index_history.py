"""Random histories of a lake that an index follows, by an ingester that dies now and then.

What was followed must be what a rebuild makes from the lake, byte for byte.
"""

from __future__ import annotations

import contextlib
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import cast

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from singerlake.errors import ConfigError, CorruptDocument, SingerlakeError
from singerlake.format.keys import StreamKeys
from singerlake.index.check import check_index
from singerlake.index.export import export_lines
from singerlake.index.ingester import Ingester
from singerlake.index.open import open_index
from singerlake.index.query import Query
from singerlake.index.rebuild import rebuild_index
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake
from singerlake.lake.feed.event import Failed
from singerlake.lake.feed.follower import Follower
from tests.faults.feed_history import KEYS, SIZES, WHICH, FeedHistory
from tests.faults.truth import Violation
from tests.index.dying import Death, Dying
from tests.lake.feed.clockwork import OPTIONS


class IndexHistory(FeedHistory):
    """The same lake and the same bad luck; an index is what consumes the feed."""

    def _start(self) -> None:
        if not hasattr(self, "folder"):
            self.folder = tempfile.TemporaryDirectory(prefix="index-")
            self.opened: list[Storage] = []
            self.storage = Dying(self._followed())
            self.fresh = self._open("rebuilt")
            self.lake = Lake(self.stage.seen)
            self.ingester: Ingester | None = None
            self.restored: set[str] = set()
        self.follower = Follower(self.stage.seen, OPTIONS, self.runtime)
        self.ingester = None

    url = ""
    """Of an index that histories use one after the other; a new SQLite file for each without it."""

    def _followed(self) -> Storage:
        if not self.url:
            return self._open("followed")
        self.opened.append(open_index(self.url))
        self.opened[-1].forget()
        return self.opened[-1]

    def _open(self, name: str) -> Storage:
        self.opened.append(open_index(f"sqlite:///{Path(self.folder.name, name)}"))
        return self.opened[-1]

    def teardown(self) -> None:
        try:
            if self.consumer.is_sound:
                self.drain()
        finally:
            for one in self.opened:
                one.close()
            self.folder.cleanup()
            self.stage.store.clear()
            self._world.close()

    def _following(self) -> Ingester | None:
        """An ingester, unless the lake cannot be read at all."""
        if self.ingester is None:
            storage = cast(Storage, self.storage)
            with contextlib.suppress(CorruptDocument, SingerlakeError):
                try:
                    self.ingester = self._ingester(storage)
                except ConfigError:  # a rebuild made a new lake document, with a new id
                    rebuild_index(storage, self.lake, lambda event: None)
                    self.ingester = self._ingester(storage)
        return self.ingester

    def _ingester(self, storage: Storage) -> Ingester:
        self.failed: set[tuple[str, str]] = set()

        def fail(event: Failed) -> None:
            self.failed.add((event.tap, event.stream))

        return Ingester(storage, self.lake, follower=self.follower, on_failure=fail)

    @rule(seconds=st.sampled_from([0, 1, 6, 60]))
    def poll(self, seconds: int) -> None:
        self.runtime.seconds += seconds
        if (ingester := self._following()) is not None:
            ingester.poll()

    @rule(seconds=st.sampled_from([0, 60]), at=st.integers(0, 12))
    def poll_and_die(self, seconds: int, at: int) -> None:
        """At any step of any transaction, or between two."""
        self.runtime.seconds += seconds
        if (ingester := self._following()) is None:
            return
        self.storage.left = at
        try:
            ingester.poll()
        except Death:
            self.kills += 1
            self._start()
        self.storage.left = None

    @rule(keys=KEYS, whole=st.booleans())
    def hint(self, keys: StreamKeys, whole: bool) -> None:
        if (ingester := self._following()) is not None:
            ingester.hint(keys.tap_id, None if whole else keys.stream)

    @rule(keys=KEYS, size=SIZES)
    def vacuum_and_purge_change_no_answer(self, keys: StreamKeys, size: int) -> None:
        """Ids, runs and times stay as they were, and so does each run's answer."""
        if not self._drained():
            return
        before = self._answers(keys)
        self.stage.vacuum(keys, size)
        self.stage.purge(keys)
        self.drain()
        if self._answers(keys) != before:
            raise Violation(f"ANSWERS of {keys} changed by a vacuum")

    def _answers(self, keys: StreamKeys) -> dict[str | None, list[tuple[object, ...]]]:
        query = Query(tap=keys.tap_id, stream=keys.stream)
        entries = self.storage.page(query, limit=10_000)
        runs = {entry.run_id for entry in entries}
        asked = {
            run: [] if run is None else self.storage.page(Query(run_id=run), limit=10_000)
            for run in runs
        }
        return {
            run: [(e.id, e.run_id, e.start, e.end, e.hash, e.size, e.records) for e in found]
            for run, found in (*asked.items(), (None, entries))
        }

    @rule()
    def drain(self) -> None:
        self._drained()

    def _drained(self) -> bool:
        """Nothing is new any more, and the index is as a rebuilt one; False where there is no lake
        to compare with."""
        self.stage.seen.down = ""
        self.consumer.is_sound = False
        self._start()
        ingester = self._following()
        if ingester is None:
            self.consumer.is_sound = True
            return False
        for _ in range(4):
            self.runtime.seconds += 60
            ingester.poll()
        if not (lake_id := self._lake_id()) or lake_id != self.storage.lake_id:
            self.consumer.is_sound = True
            return False
        self._require_same()
        self.consumer.is_sound = True
        return True

    def _lake_id(self) -> str:
        try:
            return self.lake.lake_id()
        except CorruptDocument:
            return ""

    def _require_same(self) -> None:
        # What cannot be read stays in a followed index, and is reported; a rebuilt one lacks it.
        failed = self.failed.copy()
        self.fresh.forget()
        rebuild_index(self.fresh, self.lake, lambda event: failed.add((event.tap, event.stream)))
        there = set(self.fresh.streams()) - failed
        taps = {tap for tap, _ in there} - {tap for tap, stream in failed if not stream}
        expected = _chosen(export_lines(self.fresh), there, taps, self.restored)
        followed = _chosen(export_lines(cast(Storage, self.storage)), there, taps, self.restored)
        for wrong, right in zip(followed, expected, strict=False):
            if wrong != right:
                raise Violation(f"WRONG {wrong!r}, rebuilt {right!r}")
        if len(followed) != len(expected):
            raise Violation(f"MISSED {len(followed)} lines, rebuilt {len(expected)}")
        for finding in check_index(cast(Storage, self.storage), self.lake):
            if (finding.tap, finding.stream) in there and finding.kind != "unreadable":
                raise Violation(f"CHECK {finding}")

    @precondition(lambda self: self.stage.saved_runs)
    @rule(which=WHICH, runs=st.integers(0, 3))
    def put_an_older_run_log_back(self, which: int, runs: int) -> None:
        """Writers put missing rows back, a corrected one maybe under its old number, below the
        bookmark: the feed does not look there, so the correction stays unknown."""
        self.restored.add(self.stage.saved_runs[which % len(self.stage.saved_runs)][0])
        super().put_an_older_run_log_back(which, runs)

    # Of the feed's own consumer

    save_the_cursor = follow_from_a_saved_cursor = None  # type: ignore[assignment]
    begin_a_stream_anew = begin_the_runs_anew = None  # type: ignore[assignment]


def _chosen(
    lines: Iterable[bytes], streams: set[tuple[str, str]], taps: set[str], restored: set[str]
) -> list[bytes]:
    """What is of streams and runs that can be read; of restored run logs without outcomes."""
    found = []
    for line in lines:
        body = json.loads(line)
        if body["kind"] != "run":
            if (body["tap"], body["stream"]) in streams:
                found.append(line)
        elif body["tap"] in restored & taps:
            found.append(line.replace(b'"%s"' % body["outcome"].encode(), b""))
        elif body["tap"] in taps:
            found.append(line)
    return found
