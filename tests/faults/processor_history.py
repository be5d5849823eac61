"""Random histories of a lake whose commits a processor's source hands over, and which dies.

The engine is the processor's own, in memory. Each key must get the commits of its stream once and
in order, up to the end of the log, or stand still and say why.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import rule

from singerlake.errors import Later, SingerlakeError
from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake, log
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.options import FeedOptions
from singerlake.processor import LakeSource, MemoryEngine, lake_source
from singerlake.processor.engine.values import Item
from singerlake.processor.event import decode_value
from singerlake.processor.lake_position import key_of
from singerlake.processor.observer import Observer
from tests.faults.feed_consumer import Reading, is_named, read
from tests.faults.feed_history import KEYS, FeedHistory
from tests.faults.feed_stage import EVERY
from tests.faults.truth import Violation

OPTIONS = FeedOptions(poll_seconds=1e-9, idle_seconds=1e-9)
"""Every stream is due at every poll."""

MOST = 100_000


class Death(BaseException):
    """Of the process: nothing that it would do next happens."""


class Mortal(MemoryEngine):
    """Its client dies at a step, before or after it."""

    left: int | None = None
    after = False

    def hand_over(self, name: str, key: str, before: str, after: str, items: Sequence[Item]) -> str:
        self.step(False)
        found = super().hand_over(name, key, before, after, items)
        self.step(True)
        return found

    def step(self, is_done: bool) -> None:
        if self.left is None or self.after != is_done:
            return
        self.left -= 1
        if self.left < 0:
            self.left = None
            raise Death


class ProcessorHistory(FeedHistory):
    """The same lake and the same bad luck; a processor's source is what consumes the feed."""

    def _start(self) -> None:
        if not hasattr(self, "engine"):
            self.engine = Mortal()
            self.begun: dict[str, list[int]] = {}
            """Of keys whose new numbers somebody accepted: how many entries were there then, for
            each time."""
            self.bugs = self._world.enter_context(
                mock.patch.object(lake_source.logger, "exception")
            )
        self.has_begun = False
        self.source = LakeSource(Lake(self.stage.seen), options=OPTIONS)

    def teardown(self) -> None:
        try:
            if self.consumer.is_sound:
                self.drain()
        finally:
            self.engine.close()
            self.stage.store.clear()
            self._world.close()

    @rule()
    def poll(self) -> None:
        self._poll()

    def _poll(self) -> None:
        self.consumer.is_sound = False
        try:
            if not self.has_begun:
                self.source.begin(self.engine, Observer())
                self.has_begun = True
            with contextlib.suppress(Later):
                self.source.poll()
        except SingerlakeError:  # it cannot begin now: the process ends, and is started again
            self._start()
        if self.bugs.called:
            raise Violation("BROKE a poll")
        for key in self._keys():
            self._require_order(key)
        self.consumer.is_sound = True

    @rule(at=st.integers(0, 4), after=st.booleans())
    def poll_and_die(self, at: int, after: bool) -> None:
        self.engine.left, self.engine.after = at, after
        try:
            self._poll()
        except Death:
            self.kills += 1
            self._start()
        self.engine.left = None

    @rule(keys=KEYS)
    def resume(self, keys: StreamKeys) -> None:
        """Somebody accepts that the numbers of a stream are others."""
        key = key_of(keys.tap_id, keys.stream)
        if self.engine.look(key).reason:
            self.begun.setdefault(key, []).append(len(self._values(key)))
            self.engine.resume(key)

    @rule()
    def drain(self) -> None:
        """Nothing is new any more: each key is at the end of its log, or stopped."""
        self.stage.seen.down = ""
        for _ in range(3):
            self._poll()
        self.consumer.is_sound = False
        for keys in EVERY:
            self._require_end(keys)
        self.consumer.is_sound = True

    def _keys(self) -> list[str]:
        return [key for key in self.engine.places("processor") if not key.startswith("_")]

    def _values(self, key: str) -> list[dict[str, object]]:
        return [decode_value(entry.value) for entry in self.engine.peek(key, MOST)]

    def _require_order(self, key: str) -> None:
        before: dict[str, object] | None = None
        for number, value in enumerate(self._values(key)):
            goes_on = before is not None and before["log_id"] == value["log_id"]
            if goes_on and number not in self.begun.get(key, ()):
                assert before is not None
                if int(str(value["first_sequence"])) <= int(str(before["last_sequence"])):
                    raise Violation(f"TWICE {key}: {value}, after {before}")
            before = value

    def _require_end(self, keys: StreamKeys) -> None:
        key = key_of(keys.tap_id, keys.stream)
        truth, state = read(self.stage.store, keys), self.engine.look(key)
        if truth is None or state.reason or not is_named(self.stage.store, *_names(keys)):
            return
        gaps = {
            number
            for gap in log.read_head(self.stage.store, keys).manifest.gaps
            for number in range(gap.first_sequence, gap.last_sequence + 1)
        }
        begun = max(self.begun.get(key, ()), default=0)
        had = {
            number
            for at, value in enumerate(self._values(key))
            if at >= begun or _is_still(value, truth)
            for number in range(
                int(str(value["first_sequence"])), int(str(value["last_sequence"])) + 1
            )
            # An event names the log that gave its number out, which this log may continue.
            if value["log_id"] == truth.log_id or number <= truth.continues(str(value["log_id"]))
        }
        for value in self._values(key)[begun:]:
            place = _place(value)
            now = truth.digits.get(place.sequence, place.check)
            if place.log_id == truth.log_id and place.check not in (now, ""):
                raise Violation(f"MISLED {key}: {place} was handed over, which is {now} now")
        if missed := set(range(1, truth.last_sequence + 1)) - had - gaps:
            raise Violation(f"MISSED {key}: {sorted(missed)}")

    # Of the feed's own consumer

    hint = save_the_cursor = follow_from_a_saved_cursor = None  # type: ignore[assignment]
    begin_a_stream_anew = begin_the_runs_anew = None  # type: ignore[assignment]


def _place(value: dict[str, object]) -> Bookmark:
    return Bookmark.parse(json.loads(str(value["bookmark"])))


def _is_still(value: dict[str, object], truth: Reading) -> bool:
    """Whether what was handed over before somebody accepted other numbers has its number again:
    the log was mended, and the source goes on where it was."""
    place = _place(value)
    return bool(place.check) and truth.digits.get(place.sequence) == place.check


def _names(keys: StreamKeys) -> tuple[str, str]:
    return keys.tap_id, keys.stream
