"""Random histories of a lake whose commits a consumer follows, and which dies now and then.

The consumer must see each number of each log once, in order, and each run's end behind its commits;
what it keeps must be what the lake has, or an event must have said why not. Pins stay as they were.
"""

from __future__ import annotations

import contextlib
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from singerlake.format import manifest as manifests
from singerlake.format import run_log
from singerlake.format.keys import StreamKeys
from singerlake.lake import pins
from singerlake.lake.feed import feed as feeds
from singerlake.lake.feed.follower import Follower
from tests.faults import pinned
from tests.faults.feed_consumer import Consumer
from tests.faults.feed_stage import EVERY, STREAMS, TAPS, Stage, documents_of
from tests.faults.world import deterministic, in_order
from tests.lake.feed.clockwork import OPTIONS, Clockwork

KEYS = st.sampled_from([*EVERY[:1] * 6, *EVERY[:2] * 2, *EVERY])
"""One stream gets most of it: what matters happens to one and the same."""

SIZES = st.sampled_from([500, 700, 1_000, 100_000])
WHICH = st.integers(0, 9)
DOCUMENTS = st.sampled_from([0, 0, 1, 2, 3, 4])
"""Of a stream; its manifest more often than others."""

DOWN = ("manifest.json", "log.json", "catalogue.json", "singerlake.json", "_merges/", "_segments/")


class FeedHistory(RuleBasedStateMachine):
    """A lake, a consumer of its feed, and the saved cursors of the consumer."""

    def __init__(self) -> None:
        super().__init__()
        self._world = contextlib.ExitStack()
        naming = ("singerlake.lake.runs.log", "singerlake.lake.runs.marking")
        self._world.enter_context(deterministic(naming=naming))
        self._world.enter_context(mock.patch.object(pins, "in_parallel", in_order))
        self._world.enter_context(mock.patch.object(manifests, "FAN_OUT", 2))
        self._world.enter_context(mock.patch.object(manifests, "KEPT", 3))
        self._world.enter_context(mock.patch.object(run_log, "FAN_OUT", 2))
        self.stage, self.runtime = Stage(), Clockwork()
        self.consumer = Consumer(self.stage.store)
        self.saved: list[Consumer] = []
        self.pins: list[pinned.Pinned] = []
        self.kills = self.tried = 0
        self._start()

    def teardown(self) -> None:
        try:
            if self.consumer.is_sound:
                self.drain()
                self.read_the_pins()
        finally:
            self.stage.store.clear()
            self._world.close()

    # The consumer

    def _start(self) -> None:
        self.follower = Follower(self.stage.seen, OPTIONS, self.runtime)
        self.feed = feeds.Feed(self.follower, self.consumer.cursor())

    @rule(seconds=st.sampled_from([0, 1, 6, 60]))
    def poll(self, seconds: int) -> None:
        self.runtime.seconds += seconds
        for event in self.feed.poll():
            self.consumer.apply(event)

    @rule(seconds=st.sampled_from([0, 60]), at=st.integers(0, 6), stored=st.booleans())
    def poll_and_die(self, seconds: int, at: int, stored: bool) -> None:
        """At an event, before or after it was stored."""
        self.runtime.seconds += seconds
        for number, event in enumerate(self.feed.poll()):
            if number < at or stored:
                self.consumer.apply(event)
            if number == at:
                break
        self.kills += 1
        self._start()

    @rule(keys=KEYS, whole=st.booleans())
    def hint(self, keys: StreamKeys, whole: bool) -> None:
        self.feed.hint(keys.tap_id, None if whole else keys.stream)

    @rule()
    def drain(self) -> None:
        """Nothing is new any more, and nothing was missed."""
        self.stage.seen.down = ""
        self._drain(self.feed, self.consumer)

    def _drain(self, feed: feeds.Feed, consumer: Consumer) -> None:
        for _ in range(3):
            self.runtime.seconds += 60
            for event in feed.poll():
                consumer.apply(event)
        self.runtime.seconds += 60
        assert list(feed.poll()) == []
        consumer.require_all(TAPS, EVERY)

    @precondition(lambda self: len(self.saved) < 3)
    @rule()
    def save_the_cursor(self) -> None:
        self.saved.append(self.consumer.copy())

    @precondition(lambda self: self.saved)
    @rule(which=WHICH, shared=st.booleans())
    def follow_from_a_saved_cursor(self, which: int, shared: bool) -> None:
        saved = self.saved[which % len(self.saved)].copy()
        self.stage.seen.down = ""
        own = Follower(self.stage.seen, OPTIONS, self.runtime)
        follower = self.follower if shared else own
        self._drain(feeds.Feed(follower, saved.cursor()), saved)

    @precondition(lambda self: len(self.pins) < 3)
    @rule()
    def pin(self) -> None:
        self.tried += 1
        made = pinned.pin(self.stage.store, f"p-{self.tried}", EVERY)
        if made is not None:
            self.pins.append(made)

    @rule()
    def read_the_pins(self) -> None:
        for one in self.pins:
            one.require(self.stage.store)

    @rule(keys=KEYS)
    def begin_a_stream_anew(self, keys: StreamKeys) -> None:
        """As somebody does whose bookmark is stale."""
        self.consumer.places.pop((keys.tap_id, keys.stream), None)
        self._start()

    @rule(tap=st.sampled_from(TAPS))
    def begin_the_runs_anew(self, tap: str) -> None:
        self.consumer.places.pop((tap, ""), None)
        self._start()

    # The lake

    @initialize(commits=st.sampled_from([0, 2, 3, 5]))
    def begin(self, commits: int) -> None:
        """Most histories are about logs that are there."""
        for _ in range(commits):
            self.stage.commit(EVERY[0], 1)
        for _ in range(commits // 2):
            self.stage.run(EVERY[0])

    @rule(keys=KEYS, commits=st.integers(1, 3))
    def commit(self, keys: StreamKeys, commits: int) -> None:
        for _ in range(commits):
            self.stage.commit(keys, 1)

    @rule(keys=KEYS, count=st.integers(1, 3))
    def commit_several_files(self, keys: StreamKeys, count: int) -> None:
        self.stage.adopt(keys, count)

    @precondition(lambda self: len(self.stage.runs) < 3)
    @rule(keys=KEYS)
    def begin_a_run(self, keys: StreamKeys) -> None:
        self.stage.begin(keys)

    @precondition(lambda self: self.stage.runs)
    @rule(which=WHICH)
    def go_on_with_a_run(self, which: int) -> None:
        self.stage.go_on(self.stage.runs[which % len(self.stage.runs)])

    @precondition(lambda self: self.stage.runs)
    @rule(which=WHICH, others=st.sets(st.sampled_from([*STREAMS, "nowhere"])))
    def end_a_run(self, which: int, others: set[str]) -> None:
        run = self.stage.runs[which % len(self.stage.runs)]
        self.stage.end(run, sorted(others))

    @rule(tap=st.sampled_from(TAPS), which=WHICH)
    def mark_a_run(self, tap: str, which: int) -> None:
        self.stage.mark(tap, which)

    @rule(keys=KEYS, size=SIZES, older=st.booleans())
    def vacuum(self, keys: StreamKeys, size: int, older: bool) -> None:
        self.stage.vacuum(keys, size)
        if older:
            self.stage.forget_revisions(keys)

    @rule(keys=KEYS)
    def purge(self, keys: StreamKeys) -> None:
        self.stage.purge(keys)

    @rule()
    def rebuild(self) -> None:
        self.stage.rebuild()

    @rule(keys=KEYS)
    def forget_revisions(self, keys: StreamKeys) -> None:
        self.stage.forget_revisions(keys)

    # Bad luck

    @precondition(lambda self: self.stage.saved)
    @rule(which=WHICH, commits=st.integers(0, 3))
    def put_an_older_manifest_back(self, which: int, commits: int) -> None:
        """The log grows again, maybe past where the consumer is."""
        keys = self.stage.restore(which)
        for _ in range(commits):
            self.stage.commit(keys, 1)

    @precondition(lambda self: self.stage.saved_runs)
    @rule(which=WHICH, runs=st.integers(0, 3))
    def put_an_older_run_log_back(self, which: int, runs: int) -> None:
        tap = self.stage.restore_runs(which)
        for _ in range(runs):
            self.stage.run(StreamKeys(tap, STREAMS[0]))

    @rule(keys=KEYS, which=WHICH)
    def lose_a_file_and_rebuild(self, keys: StreamKeys, which: int) -> None:
        self.stage.lose_a_file(keys, which)

    @rule(keys=KEYS, which=DOCUMENTS, spoil=st.booleans(), mend=st.booleans())
    def lose_a_document(self, keys: StreamKeys, which: int, spoil: bool, mend: bool) -> None:
        key = documents_of(keys)[which]
        if spoil:
            self.stage.spoil(key)
        else:
            self.stage.lose(key)
        if mend:
            self.stage.rebuild()

    @rule(keys=KEYS)
    def lose_a_stream(self, keys: StreamKeys) -> None:
        self.stage.lose_stream(keys)

    @rule(part=st.sampled_from(DOWN))
    def lose_touch(self, part: str) -> None:
        """The store gives no answer about these, until somebody drains."""
        self.stage.seen.down = part
