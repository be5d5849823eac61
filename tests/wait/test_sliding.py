"""Windows that slide: what has left one is missing, in the wait and in the table."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import SingerlakeError, Unavailable
from singerlake.wait import Arrival, HttpEvent, Progress, Sliding, Wait, Waiter
from singerlake.wait.status.database import open_database
from singerlake.wait.status.mirror import Mirror
from singerlake.wait.status.store import StatusStore
from tests.wait.clocks import SetClock

EVENT = HttpEvent(post="A", name="A", window=Sliding(3600))


class Desk:
    def __init__(self, store: StatusStore) -> None:
        self.clock, self.store = SetClock(), store
        self.wait = Wait("w", (EVENT,), self.clock.now())

    def states(self) -> list[str]:
        return [row.state for row in self.store.rows()]

    def here(self) -> Arrival:
        return Arrival(time=self.clock.now(), position={})

    def take(self, waiter: Waiter, answer: Arrival | SingerlakeError | None) -> Progress:
        now = self.clock.now()
        return waiter.take([(one, answer) for one in waiter.questions(now)], now)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    engine = open_database(f"sqlite:///{tmp_path}/waits.db")
    yield Desk(StatusStore(engine))
    engine.dispose()


@pytest.mark.parametrize("is_started_again", [False, True])
def test_what_slid_out_does_not_count_while_the_source_is_away(
    desk: Desk, is_started_again: bool
) -> None:
    def waiter() -> Waiter:
        return Waiter(desk.wait, store=desk.store, runtime=desk.clock)

    made = waiter()
    assert desk.take(made, desk.here()).is_done
    made = waiter() if is_started_again else made
    desk.clock.set("2026-07-07T08:59")
    assert desk.take(made, Unavailable("away")).is_done  # it is within the last hour
    desk.clock.set("2026-07-07T09:01")
    assert not desk.take(made, Unavailable("away")).is_done
    assert desk.states() == ["waiting"]


def test_the_table_shows_what_is_missing_again(desk: Desk) -> None:
    looked = Waiter(desk.wait, runtime=desk.clock)
    mirror = Mirror(desk.store, desk.wait)
    answers: list[tuple[Any, str]] = [
        (None, "waiting"),
        (desk.here(), "received"),
        (None, "waiting"),
        (desk.here(), "received"),
    ]
    for answer, state in answers:
        mirror.show(desk.take(looked, answer).standings)
        assert desk.states() == [state]
    assert [row.late for row in desk.store.rows()] == [False]


def test_who_waits_anew_for_what_was_given_up_is_shown_waiting(desk: Desk) -> None:
    """By the same name: the command of the morning is started once more."""
    daily = HttpEvent(post="A", name="A", since=desk.clock.now())
    first = Wait("morning", (daily,), desk.clock.now(), deadline=desk.clock.now())
    later = Wait("morning", (daily,), desk.clock.now(), deadline=first.at + timedelta(hours=1))
    for wait, state in ((first, "missed"), (later, "waiting")):
        looked = Waiter(wait, runtime=desk.clock)
        Mirror(desk.store, wait).show(desk.take(looked, None).standings)
        (row,) = desk.store.rows()
        assert (row.state, row.timeout) == (state, wait.deadline)
