"""Waits over the inbox: windows, counts, deadlines and restarts."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from singerlake.errors import ConfigError, Unavailable
from singerlake.wait import ANY, HttpEvent, LakeCommit, Need, Sliding, Wait, Waiter, Window
from singerlake.wait.event import Awaited
from singerlake.wait.inbox import Inbox
from singerlake.wait.source.base import Answer, Question
from singerlake.wait.source.inbox import InboxSource
from singerlake.wait.status.database import open_database
from singerlake.wait.status.store import StatusStore
from tests.wait.clocks import SetClock

DAY, MONTH = Window("D"), Window("M")


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc)


class Desk:
    """A database of waits, its inbox, and a clock."""

    def __init__(self, engine: Engine) -> None:
        self.clock = SetClock()
        self.inbox = Inbox(engine, self.clock)
        self.store = StatusStore(engine, self.clock)

    def waiter(self, *events: Awaited, **more: Any) -> Waiter:
        wait = Wait("morning", events, more.pop("at", self.clock.now()), **more)
        source = InboxSource(self.inbox, self.clock)
        return Waiter(wait, {"http": source}, self.store, self.clock)

    def missing(self, waiter: Waiter) -> list[str]:
        return [one.event.title for one in waiter.look().missing]

    def states(self) -> list[tuple[str, str, str]]:
        return [(row.window, row.name, row.state) for row in self.store.rows()]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    engine = open_database(f"sqlite:///{tmp_path}/waits.db")
    yield Desk(engine)
    engine.dispose()


def daily(post: str, moving: bool = False) -> HttpEvent:
    return HttpEvent(name=post, post=post, window=DAY, moving=moving)


def test_the_story_of_days_and_months(desk: Desk) -> None:
    """A and B are daily, C and D monthly, and the windows move with the clock."""
    monthly = [HttpEvent(name=name, post=name, window=MONTH, moving=True) for name in "CD"]
    waiter = desk.waiter(daily("A", True), daily("B", True), *monthly)
    for name in "ABC":
        desk.inbox.take(name, {})
    assert desk.missing(waiter) == ["D"]
    desk.clock.set("2026-07-08T09:00")
    desk.inbox.take("D", {})
    assert desk.missing(waiter) == ["A", "B"]
    desk.clock.set("2026-07-09T09:00")
    desk.inbox.take("A", {})
    desk.inbox.take("B", {})
    progress = waiter.look()
    assert progress.is_done
    assert not progress.missing
    desk.clock.set("2026-08-01T09:00")
    desk.inbox.take("A", {})
    desk.inbox.take("B", {})
    assert desk.missing(waiter) == ["C", "D"]
    assert ("2026-07-07", "A", "received") in desk.states()
    assert ("2026-08", "C", "waiting") in desk.states()


def test_a_fixed_window_is_that_of_the_waits_own_time(desk: Desk) -> None:
    waiter = desk.waiter(daily("A"))
    desk.clock.set("2026-07-08T09:00")
    desk.inbox.take("A", {})
    assert desk.missing(waiter) == ["A"]
    desk.inbox.take("A", {}, time=at("2026-07-07T23:59:59.999999"))
    assert desk.missing(waiter) == []


@pytest.mark.parametrize(
    ("time", "counts"),
    [
        ("2026-07-06T23:59:59.999999", False),
        ("2026-07-07T00:00", True),
        ("2026-07-07T23:59:59.999999", True),
        ("2026-07-08T00:00", False),
    ],
)
def test_boundaries_are_half_open(desk: Desk, time: str, counts: bool) -> None:
    desk.inbox.take("A", {}, time=at(time))
    assert desk.waiter(daily("A")).look().is_done is counts


def test_who_starts_late_sees_what_came_before(desk: Desk) -> None:
    desk.inbox.take("A", {"country": "DE"})
    desk.clock.set("2026-07-07T20:00")
    assert desk.waiter(daily("A")).look().is_done


def test_without_a_window_only_what_comes_from_now_on_counts(desk: Desk) -> None:
    desk.inbox.take("A", {})
    desk.clock.set("2026-07-07T08:01")
    waiter = desk.waiter(HttpEvent(post="A"))
    assert not waiter.look().is_done
    desk.inbox.take("A", {})
    assert waiter.look().is_done


def test_a_post_counts_though_the_clock_of_its_receiver_is_behind(desk: Desk) -> None:
    desk.inbox.take("A", {"number": 1})
    waiter = desk.waiter(HttpEvent(post="A"))
    assert not waiter.look().is_done
    desk.clock.set("2026-07-07T07:58")  # another machine
    desk.inbox.take("A", {"number": 2})
    assert waiter.look().is_done
    assert desk.waiter(HttpEvent(post="A")).look().is_done  # also after a restart


def test_a_restart_counts_from_where_the_first_wait_began(desk: Desk) -> None:
    assert not desk.waiter(HttpEvent(post="A")).look().is_done
    desk.clock.set("2026-07-07T09:00")
    desk.inbox.take("A", {})
    desk.clock.set("2026-07-07T10:00")
    assert desk.waiter(HttpEvent(post="A"), at=at("2026-07-07T08:00")).look().is_done


def test_match_wants_at_least_what_it_has(desk: Desk) -> None:
    event = HttpEvent(post="A", window=DAY, match={"file": {"country": "DE"}})
    waiter = desk.waiter(event)
    desk.inbox.take("A", {"file": {"country": "FR"}})
    desk.inbox.take("A", ["DE"])
    assert not waiter.look().is_done
    desk.inbox.take("A", {"file": {"country": "DE", "rows": 3}, "more": 1})
    assert waiter.look().is_done


def test_posts_that_do_not_match_are_read_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """And those of the last minute again: numbers are given before they are committed."""
    read: list[int] = []
    find = Inbox.find

    def counted(*arguments: Any) -> Iterator[Any]:
        for post in find(*arguments):
            read.append(post.number)
            yield post

    monkeypatch.setattr(Inbox, "find", counted)
    event = HttpEvent(post="A", window=DAY, match={"n": 3})
    waiter, other = desk.waiter(event), desk.waiter(event)
    desk.inbox.take("A", {"n": 1})
    assert not waiter.look().is_done
    assert not waiter.look().is_done
    desk.clock.set("2026-07-07T08:02")
    desk.inbox.take("A", {"n": 2})
    assert not waiter.look().is_done
    assert not waiter.look().is_done
    assert read == [1, 1, 1, 2, 2]
    desk.clock.set("2026-07-07T08:10")
    desk.inbox.take("A", {"n": 3})
    assert waiter.look().is_done
    assert other.look().is_done  # whoever asks later finds it, too


@pytest.mark.parametrize(
    ("need", "came", "done"),
    [
        (ANY, "A", True),
        (ANY, "", False),
        (Need(at_least=2), "A", False),
        (Need(at_least=2), "AC", True),
        (Need(missing_at_most=1), "AB", True),
        (Need(missing_at_most=1), "A", False),
        (Need(), "AB", False),
    ],
)
def test_how_many_are_needed(desk: Desk, need: Need, came: str, done: bool) -> None:
    waiter = desk.waiter(*map(daily, "ABC"), need=need)
    for name in came:
        desk.inbox.take(name, {})
    assert waiter.look().is_done is done


@pytest.mark.parametrize(
    "need",
    [Need(at_least=4), Need(at_least=0), Need(missing_at_most=3), Need(missing_at_most=-1)],
)
def test_what_can_never_be_is_refused(desk: Desk, need: Need) -> None:
    with pytest.raises(ConfigError, match="expected to wait for 1 to 3 of 3"):
        desk.waiter(*map(daily, "ABC"), need=need)


def test_bad_waits_are_refused(desk: Desk) -> None:
    with pytest.raises(ConfigError, match="from 1 on"):
        LakeCommit(tap="t", stream="s", sequence=0)
    with pytest.raises(ConfigError, match="several times"):
        desk.waiter(daily("A"), daily("A"))
    with pytest.raises(ConfigError, match="at least one"):
        desk.waiter()
    with pytest.raises(ConfigError, match="both"):
        Need(at_least=1, missing_at_most=1)


def test_at_the_deadline_the_missing_are_missed_and_the_others_stay(desk: Desk) -> None:
    waiter = desk.waiter(daily("A"), daily("B"), deadline=at("2026-07-07T09:00"))
    desk.inbox.take("A", {})
    assert not waiter.look().is_over
    desk.clock.set("2026-07-07T09:00")
    progress = waiter.look()
    assert progress.is_over
    assert not progress.is_done
    assert [one.event.title for one in progress.missing] == ["B"]
    assert desk.states() == [
        ("2026-07-07", "A", "received"),
        ("2026-07-07", "B", "missed"),
    ]


def test_what_comes_after_its_window_was_given_up_is_late(desk: Desk) -> None:
    waiter = desk.waiter(daily("B"), deadline=at("2026-07-07T09:00"))
    desk.clock.set("2026-07-07T09:00")
    waiter.look()
    desk.inbox.take("B", {})
    waiter.look()
    (row,) = desk.store.rows("morning")
    assert (row.state, row.late) == ("received", True)


def test_what_is_there_at_the_deadline_counts(desk: Desk) -> None:
    waiter = desk.waiter(daily("A"), deadline=at("2026-07-07T09:00"))
    desk.inbox.take("A", {})
    desk.clock.set("2026-07-07T12:00")
    assert waiter.look().is_done


def test_what_slides_out_of_its_window_is_missing_again(desk: Desk) -> None:
    waiter = desk.waiter(HttpEvent(post="A", window=Sliding(3600)))
    desk.inbox.take("A", {})
    assert waiter.look().is_done
    desk.clock.set("2026-07-07T09:00:01")
    assert not waiter.look().is_done


def test_a_source_that_fails_holds_no_other_back(desk: Desk) -> None:
    class Broken:
        def anchored(self, event: Any) -> Awaited:
            return event  # type: ignore[no-any-return]

        def look(self, questions: list[Question]) -> list[Answer]:
            return [Unavailable("no answer") for _ in questions]

        def close(self) -> None: ...

    class Mine(Awaited, frozen=True, kw_only=True, tag="mine"):
        @property
        def subject(self) -> str:
            return "something of mine"

    sources = {"http": InboxSource(desk.inbox, desk.clock), "mine": Broken()}
    wait = Wait("morning", (daily("A"), Mine()), desk.clock.now())
    waiter = Waiter(wait, sources, desk.store, desk.clock)
    desk.inbox.take("A", {})
    progress = waiter.look()
    assert [one.state for one in progress.standings] == ["received", "waiting"]
    assert isinstance(progress.standings[1].error, Unavailable)
    assert desk.store.rows()[1].error == "Unavailable: no answer"


def test_a_repeat_is_recognised_by_its_id(desk: Desk) -> None:
    assert desk.inbox.take("A", {}, id="7")
    assert not desk.inbox.take("A", {"changed": 1}, id="7")
    assert desk.inbox.take("B", {}, id="7")
    assert desk.inbox.take("A", {})
    assert desk.inbox.take("A", {})
    whole = Window("Y").at(desk.clock.now())
    assert [post.body for post in desk.inbox.find("A", whole)] == [{}, {}, {}]


def test_retention_removes_what_is_over(desk: Desk) -> None:
    desk.waiter(daily("A"), daily("B")).look()
    desk.inbox.take("A", {})
    desk.waiter(daily("A"), daily("B")).look()
    desk.clock.set("2026-09-01T00:00")
    limit = desk.clock.now() - timedelta(days=30)
    assert desk.store.forget(limit) == 1
    assert desk.inbox.forget(limit) == 1
    assert desk.states() == [("2026-07-07", "B", "waiting")]
