"""Random histories of a lake and a consumer of its feed: each commit once, whatever happens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from singerlake.format.manifest import Commit, Manifest
from singerlake.format.pin import Pin
from singerlake.format.run_log import Row
from singerlake.lake import Snapshot, continuation, pins
from singerlake.lake.feed import history, position
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.event import Event
from singerlake.lake.feed.feed import Feed
from singerlake.lake.feed.run_end import EndedRuns
from singerlake.lake.runs import log as run_logs
from tests.faults.feed_history import FeedHistory
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Violation
from tests.faults.variant import Broken

SUITE = "Feed"
TEST = "tests/faults/test_feed_histories.py"
PARTS = scaled(1, 4)
EXAMPLES = scaled(60, 600)
STEPS = 40


def run(machine: type[FeedHistory], examples: int, phases: Iterable[Phase] = tuple(Phase)) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_consumer_sees_each_commit_and_each_end_of_a_run_once(part: int) -> None:
    line = Line(
        SUITE,
        f"commits, runs, vacuum, purge, rebuild, loss, deaths ({part + 1} of {PARTS})",
        TEST,
        bounds=f"up to {STEPS} steps",
    )

    class Counted(FeedHistory):
        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.kills
            super().teardown()

    run(Counted, EXAMPLES)
    line.keep()


def no_revisions() -> contextlib.AbstractContextManager[Any]:
    """A feed that does not look which older rows have changed."""
    return mock.patch.object(history, "_changed", return_value=())


def no_look_at_the_bookmark() -> contextlib.AbstractContextManager[Any]:
    """A feed that goes on from a number, whichever file bears it now. Pins still look."""
    look = position._require_same_file

    def of_pins(snapshot: Snapshot, bookmark: Bookmark, where: str, remedy: str) -> None:
        if remedy != position._ANEW:
            look(snapshot, bookmark, where, remedy)

    return mock.patch.object(position, "_require_same_file", of_pins)


def no_look_at_the_run() -> contextlib.AbstractContextManager[Any]:
    """A feed that goes on from the number of a run, whichever run has it now."""

    def rows(self: EndedRuns) -> Iterator[Row]:
        return run_logs.rows(self._store, self._keys, self.log, self._read.sequence)

    return mock.patch.object(EndedRuns, "rows", rows)


def no_look_at_the_pin() -> contextlib.AbstractContextManager[Any]:
    """Pins that read up to a number, whichever files bear the numbers up to it now."""

    def end_of(pin: Pin, snapshot: Snapshot) -> int:
        place = pin.stream(snapshot.keys.tap_id, snapshot.keys.stream)
        return 0 if place is None else place.sequence

    return mock.patch.object(pins, "end_of", end_of)


def gaps_dropped() -> contextlib.AbstractContextManager[Any]:
    """A feed that passes over numbers without a file."""
    return mock.patch.object(history, "_missing", return_value=())


def runs_before_commits() -> contextlib.AbstractContextManager[Any]:
    """A feed that gives the ends of runs, and moves their bookmark, before it reads streams."""
    poll = Feed.poll

    def early(self: Feed) -> Iterator[Event]:
        list(self._discover())
        ended, _ = self._ended_runs()
        for tap, runs in ended.items():
            yield from self._run_ends(tap, runs)
        yield from poll(self)

    return mock.patch.object(Feed, "poll", early)


def any_place_of_a_continued_log() -> contextlib.AbstractContextManager[Any]:
    """A feed that takes every bookmark of a log that is continued, however far it has read."""

    def is_known(manifest: Manifest, log_id: str, sequence: int) -> bool:
        return continuation.common(manifest, log_id) != 0

    return mock.patch.object(continuation, "is_known", is_known)


def more_than_is_proven() -> contextlib.AbstractContextManager[Any]:
    """A rebuild that continues a log up to the end of what it made, whatever was proven."""
    begin = continuation.begin_anew

    def begin_anew(manifest: Manifest, made: Commit, up_to: int) -> Manifest:
        return begin(manifest, made, manifest.last_sequence)

    return mock.patch.object(continuation, "begin_anew", begin_anew)


CONTROLS: dict[Broken, set[str]] = {
    runs_before_commits: {"EARLY"},
    # A run may have committed what was lost since: then its end comes too early.
    gaps_dropped: {"MISSED", "EARLY"},
    no_revisions: {"WRONG"},
    # Once it has gone on, the bookmark is right again, and what is behind it is not.
    no_look_at_the_bookmark: {"MISLED", "WRONG"},
    no_look_at_the_run: {"MISLED"},
    no_look_at_the_pin: {"PINNED"},
    any_place_of_a_continued_log: {"ORDER", "CLAIMED", "MISSED", "MISLED"},
    more_than_is_proven: {"CLAIMED", "MISLED"},
}
"""With what each shows as: not just any error."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_broken_feed_is_seen() -> None:
    line = Line(SUITE, "controls", f"{TEST} -k broken")
    for broken, kinds in CONTROLS.items():
        began, seen = time.monotonic(), ""
        try:
            with broken():
                run(FeedHistory, 3000, [Phase.generate])
        except Violation as violation:
            seen = violation.kind
        line.control(seen in kinds, (broken.__name__, seen))
        print(broken.__name__, "seen after", round(time.monotonic() - began, 1), "s")
