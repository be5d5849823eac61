"""Which run is the newest: by the order of the log and of commits, never by a clock."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.errors import ConfigError
from singerlake.format.run import Outcome
from singerlake.format.run_keys import RunKeys
from singerlake.lake import Lake, clock, newest_complete, rebuild
from singerlake.lake.extent import Extent, covered
from singerlake.lake.runs import documents, ending, marking, mending
from singerlake.store import Store
from tests.lake.landing import EPOCH, STREAM, TAP, new_store
from tests.lake.running import land_run
from tests.lake.test_extent import HOUR, last, rebuilt, snapshot, tidied, untouched


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The next times that the lake's clock shows; then it goes on by itself."""
    times: list[datetime] = []
    shown = [EPOCH]

    def now() -> datetime:
        shown[0] = times.pop(0) if times else shown[0] + timedelta(microseconds=1)
        return shown[0]

    monkeypatch.setattr(clock, "now", now)
    return times


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 2), st.booleans()), min_size=1),
    st.sampled_from([untouched, tidied, rebuilt]),
)
def test_the_last_run_is_the_newest_whatever_clocks_say(
    ran: list[tuple[int, int, bool]], after: Callable[[Store], None]
) -> None:
    """A machine whose clock is ahead by a year must not hide later runs for a year."""
    store = new_store()
    land_run(store, "first", [99], outcome="ended")
    wanted = None
    with pytest.MonkeyPatch.context() as patch:
        for number, (shown, commits, complete) in enumerate(ran):
            patch.setattr(clock, "now", lambda shown=shown: EPOCH + shown * HOUR)
            sent = [10 * number + at for at in range(commits)]
            outcome: Outcome = "complete" if complete else "ended"
            land_run(store, f"run-{number}", *([one] for one in sent), outcome=outcome)
            wanted = sent if complete else wanted
    after(store)
    if wanted is None:
        with pytest.raises(ConfigError, match="expected a run that is complete"):
            last(store)
    else:
        assert last(store) == wanted
        found = newest_complete(Lake(store).tap(TAP).runs(), STREAM)
        assert found == covered(snapshot(store), Extent(runs="last")).run


def test_a_correction_and_a_row_that_came_late_make_no_run_newer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = new_store()
    land_run(store, "empty", outcome="ended")
    land_run(store, "one", [1, 2])
    row = Lake(store).tap(TAP).runs()[0]
    marking.mark(store, TAP, row.document, "complete", by="me")
    assert last(store) == [1, 2]
    monkeypatch.setattr(ending, "append", lambda *_: None)
    land_run(store, "crashed", [3])
    monkeypatch.undo()
    monkeypatch.setattr(documents, "unlogged", lambda *_: [])
    land_run(store, "two", [4, 5])
    monkeypatch.undo()
    assert mending.complete(store, RunKeys(TAP)).added == 1
    assert last(store) == [4, 5]


def test_a_log_made_again_puts_no_run_of_a_clock_that_is_ahead_last(
    clocks: list[datetime],
) -> None:
    store = new_store()
    clocks.append(EPOCH + 5 * HOUR)
    land_run(store, "ahead", [1])
    clocks.append(EPOCH)
    land_run(store, "two", [2])
    store.delete(RunKeys(TAP).log)
    rebuild(store)
    assert last(store) == [2]


def test_an_empty_run_is_no_part_of_what_was_before_it(clocks: list[datetime]) -> None:
    store = new_store()
    clocks.append(EPOCH + 5 * HOUR)
    land_run(store, "one", [1])
    before = snapshot(store)
    land_run(store, "two", [2])
    clocks.append(EPOCH)  # another machine, whose clock is behind
    land_run(store, "empty")
    assert last(store) == []
    assert last(store, as_of=1) == [1]
    taken = covered(before, Extent(runs="last")).run
    assert taken is not None
    assert taken.run_id == "one"
