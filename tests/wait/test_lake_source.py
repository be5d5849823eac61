"""Waits for runs and commits of a real lake in memory."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone

import pytest

from singerlake.errors import NotALake, StaleBookmark, Unavailable
from singerlake.format.run_keys import RunKeys
from singerlake.lake import Bookmark, FeedOptions, Lake, clock, open_on
from singerlake.lake.rebuilding import rebuild
from singerlake.lake.runs import ending, marking, mending
from singerlake.runtime import Runtime
from singerlake.store import MemoryStore, Store
from singerlake.store.counting import Counting
from singerlake.wait import LakeCommit, LakeRun, Progress, Wait, Waiter, Window
from singerlake.wait.event import Awaited
from singerlake.wait.source.lake import LakeSource
from tests.lake.landing import KEYS, STREAM, TAP, land, new_store
from tests.lake.running import Running, land_run
from tests.wait.clocks import SetClock

EAGER = FeedOptions(poll_seconds=1e-9, idle_seconds=1e-9)


def source_of(store: Store) -> LakeSource:
    return LakeSource(lambda url: open_on(store), EAGER)


def waiter(store: Store, *events: Awaited, at: datetime | None = None) -> Waiter:
    now = datetime.now(timezone.utc)
    source = source_of(store)
    return Waiter(Wait("w", events, at or now), {"lake-run": source, "lake-commit": source})


def arrived(progress: Progress) -> list[str]:
    return [one.event.title for one in progress.received]


def test_a_run_counts_when_it_is_complete_and_has_the_streams() -> None:
    store = new_store()
    land_run(store, "before", [1])
    wait = waiter(store, LakeRun(tap=TAP, streams=(STREAM,)))
    assert not wait.look().is_done
    running = Running(store, "now")
    running.commit([2])  # a commit by size, in the middle of a sync
    assert not wait.look().is_done
    running.end("failed")
    assert not wait.look().is_done
    land_run(store, "ended", [3], outcome="ended")
    assert not wait.look().is_done
    other = Running(store, "other", stream="customers")
    other.commit([1])
    other.end()
    assert not wait.look().is_done
    land_run(store, "good", [4])
    (standing,) = wait.look().standings
    assert standing.arrival is not None
    assert standing.arrival.position["run_id"] == "good"
    assert standing.arrival.position["streams"][STREAM]["sequence"] == 4


def test_the_first_run_of_a_new_tap_counts() -> None:
    store = new_store()
    open_on(store, create=True)
    wait = waiter(store, LakeRun(tap=TAP), LakeCommit(tap=TAP, stream=STREAM))
    assert not wait.look().received
    land_run(store, "first", [1])
    assert wait.look().is_done


def test_windows_of_runs_and_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    """An event belongs to the window of its own time, also for who starts late."""
    store, day = new_store(), Window("D")
    moment = datetime(2026, 3, 3, 10, tzinfo=timezone.utc)
    monkeypatch.setattr(clock, "now", lambda: moment)
    land_run(store, "third", [1])
    moment += timedelta(days=1)
    land_run(store, "fourth", [2])
    events = LakeRun(tap=TAP, window=day), LakeCommit(tap=TAP, stream=STREAM, window=day)
    for days, run, sequence in ((3, "third", 1), (4, "fourth", 2)):
        progress = waiter(store, *events, at=datetime(2026, 3, days, tzinfo=timezone.utc)).look()
        runs, commits = (one.arrival for one in progress.standings)
        assert runs is not None
        assert commits is not None
        assert (runs.position["run_id"], commits.position["sequence"]) == (run, sequence)
    for days in (2, 5):
        at = datetime(2026, 3, days, tzinfo=timezone.utc)
        assert not waiter(store, *events, at=at).look().received


def test_a_writer_whose_clock_is_off_is_found_behind_later_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Order is that of the log; only the window is by the writer's clock."""
    store = new_store()
    moment = datetime(2026, 3, 3, 23, 30, tzinfo=timezone.utc)
    monkeypatch.setattr(clock, "now", lambda: moment)
    land_run(store, "right", [1])
    moment -= timedelta(hours=1)  # another machine
    land_run(store, "behind", [2])
    moment += timedelta(hours=2)
    land_run(store, "next day", [3])
    event = LakeCommit(tap=TAP, stream=STREAM, window=Window("H"))
    at = datetime(2026, 3, 3, 22, 45, tzinfo=timezone.utc)
    (standing,) = waiter(store, event, at=at).look().standings
    assert standing.arrival is not None
    assert standing.arrival.position["sequence"] == 2


def test_more_commits_than_one_look_reads_are_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store()
    moment = datetime(2026, 3, 3, 10, tzinfo=timezone.utc)
    monkeypatch.setattr(clock, "now", lambda: moment)
    for number in range(250):
        land(store, [number])
        moment += timedelta(hours=1)
    event = LakeCommit(tap=TAP, stream=STREAM, window=Window("D"))
    at = datetime(2026, 3, 3, 12, tzinfo=timezone.utc)
    (standing,) = waiter(store, event, at=at).look().standings
    assert standing.arrival is not None
    assert standing.arrival.position["sequence"] == 1


def test_commits_after_a_bookmark_and_up_to_a_number() -> None:
    store = new_store()
    land(store, [1])
    place = Lake(store).stream(TAP, STREAM).increment().until
    wait = waiter(
        store,
        LakeCommit(tap=TAP, stream=STREAM, after=place, name="next"),
        LakeCommit(tap=TAP, stream=STREAM, sequence=3, name="third"),
    )
    assert arrived(wait.look()) == []
    land(store, [2])
    assert arrived(wait.look()) == ["next"]
    land(store, [3])
    assert arrived(wait.look()) == ["next", "third"]


def test_a_rebuild_while_waiting_hides_nothing() -> None:
    """Numbers begin anew; what was committed since the wait began counts by its time."""
    store = new_store()
    land(store, [1])
    wait = waiter(store, LakeCommit(tap=TAP, stream=STREAM))
    assert not wait.look().is_done
    store.delete(KEYS.manifest)
    rebuild(store)
    assert isinstance(wait.look().standings[0].error, (type(None), StaleBookmark))
    land(store, [2])
    assert wait.look().is_done


def test_a_bookmark_of_another_log_is_an_error_of_that_event_alone() -> None:
    store = new_store()
    land(store, [1])
    foreign = LakeCommit(tap=TAP, stream=STREAM, after=Bookmark("f" * 32, 1), name="foreign")
    wait = waiter(store, foreign, LakeCommit(tap=TAP, stream=STREAM, sequence=1))
    progress = wait.look()
    assert isinstance(progress.standings[0].error, StaleBookmark)
    assert arrived(progress) == [f"commit of {TAP}/{STREAM}@1"]


def test_a_lake_that_goes_away_is_an_error_until_it_is_back() -> None:
    class Flaky(MemoryStore):
        is_away = False

        def read_if_changed(self, key: str, validator: str):  # type: ignore[no-untyped-def]
            if self.is_away:
                raise Unavailable("away")
            return super().read_if_changed(key, validator)

    store = Flaky(f"flaky-{Runtime().new_id()}")
    land_run(store, "one", [1])
    wait = waiter(store, LakeRun(tap=TAP))
    store.is_away = True
    assert isinstance(wait.look().standings[0].error, Unavailable)
    store.is_away = False
    land_run(store, "two", [2])
    assert wait.look().is_done


def test_no_lake_is_an_error_and_not_the_end() -> None:
    wait = waiter(new_store(), LakeRun(tap=TAP, window=Window("D")))
    assert isinstance(wait.look().standings[0].error, NotALake)


def test_many_waiters_ask_once() -> None:
    inner = new_store()
    land_run(inner, "one", [1])
    store = Counting(inner)
    source = source_of(store)
    sources = {"lake-run": source, "lake-commit": source}
    now = datetime.now(timezone.utc)
    events = tuple(
        LakeRun(tap=TAP, after=Bookmark("x", 1), since=now, name=f"w{number}")
        for number in range(200)
    )
    wait = Waiter(Wait("w", events, now), sources)
    wait.look()
    before = store.total
    wait.look()
    assert store.total - before == 1


def test_many_waits_share_one_source_and_one_read() -> None:
    """A commit costs one read of the manifest, however many waits it ends."""
    inner = new_store()
    land(inner, [1])
    store = Counting(inner)
    source = source_of(store)
    waits = [
        Waiter(
            Wait(f"w{number}", (LakeCommit(tap=TAP, stream=STREAM),), datetime.now(timezone.utc)),
            {"lake-commit": source},
        )
        for number in range(50)
    ]
    assert not any(wait.look().is_done for wait in waits)
    land(inner, [2])
    store.reset()
    assert all(wait.look().is_done for wait in waits)
    assert store.counts == {"read_if_changed": 50}  # a look each: here every look is due


def test_a_run_that_was_marked_as_failed_does_not_count() -> None:
    store = new_store()
    land_run(store, "one", [1])
    wait = waiter(store, LakeRun(tap=TAP, since=datetime(2026, 1, 1, tzinfo=timezone.utc)))
    (run,) = Lake(store).tap(TAP).runs()
    marking.mark(store, TAP, run.document, "failed", by="tests")
    assert not wait.look().is_done
    marking.mark(store, TAP, run.document, "complete", by="tests")
    assert wait.look().is_done


def lost_row(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run ends, and dies between its document and its row."""

    def died(*arguments: object) -> None:
        raise RuntimeError("died")

    with monkeypatch.context() as patch:
        patch.setattr(ending, "append", died)
        with pytest.raises(RuntimeError):
            running.end()


def test_a_row_that_was_added_late_hides_no_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check --fix` adds rows that a crash left out: an old run then has the highest number."""
    store, today = new_store(), datetime(2026, 3, 13, 10, tzinfo=timezone.utc)
    moment = datetime(2026, 3, 3, 10, tzinfo=timezone.utc)
    monkeypatch.setattr(clock, "now", lambda: moment)
    old = Running(store, "old")
    old.commit([1])
    moment = today
    land_run(store, "today", [2])
    moment = datetime(2026, 3, 3, 11, tzinfo=timezone.utc)
    lost_row(old, monkeypatch)
    assert mending.complete(store, RunKeys(TAP)).added == 1
    (standing,) = waiter(store, LakeRun(tap=TAP, window=Window("D")), at=today).look().standings
    assert standing.arrival is not None
    assert standing.arrival.position["run_id"] == "today"


def test_a_commit_by_a_clock_of_another_year_hides_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the oldest of those that a look reads first."""
    store, today = new_store(), datetime(2026, 3, 13, 10, tzinfo=timezone.utc)
    moment = today
    monkeypatch.setattr(clock, "now", lambda: moment)
    land(store, [1])
    moment = datetime(2001, 1, 1, tzinfo=timezone.utc)
    land(store, [2])
    moment = today + timedelta(days=1)
    for number in range(3, 102):
        land(store, [number])
    event = LakeCommit(tap=TAP, stream=STREAM, window=Window("D"))
    (standing,) = waiter(store, event, at=today).look().standings
    assert standing.arrival is not None
    assert standing.arrival.position["sequence"] == 1


def test_what_came_just_before_the_deadline_counts() -> None:
    """Also where no request is due by then."""
    store, moment = new_store(), SetClock()
    open_on(store, create=True)
    source = LakeSource(lambda url: open_on(store), FeedOptions(poll_seconds=600, idle_seconds=600))
    events = (LakeRun(tap=TAP, since=moment.now() - timedelta(days=9999)),)
    wait = Wait("w", events, moment.now(), deadline=moment.now() + timedelta(seconds=7))
    wait_for_run = Waiter(wait, {"lake-run": source}, runtime=moment)
    assert not wait_for_run.look().is_done
    land_run(store, "in time", [1])
    assert not wait_for_run.look().is_done  # the control: nothing is asked before it is due
    moment.wait(threading.Event(), 7)
    assert wait_for_run.look().is_done
