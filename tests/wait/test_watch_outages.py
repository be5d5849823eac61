"""What a watch reports, though nobody could be told for long."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from singerlake.errors import Unavailable
from singerlake.wait import HttpEvent, Window
from singerlake.wait.expectation import Expectation
from singerlake.wait.status.database import open_database
from singerlake.wait.watch import Notice, Watch
from tests.wait.test_watch import Desk

HOURLY = Expectation(
    name="hourly", window=Window("H"), by="30m", events=(HttpEvent(post="A", name="A"),)
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    engine = open_database(f"sqlite:///{tmp_path}/waits.db")
    yield Desk(engine)
    engine.dispose()


def hours(notices: list[Notice]) -> list[int]:
    return [one.span.start.hour for one in notices]


def through_the_morning(desk: Desk, watch: Watch) -> list[Notice]:
    found: list[Notice] = []
    for hour in range(1, 9):
        desk.clock.set(f"2026-07-07T{hour:02}:31")
        found = watch.look()
    return found


def test_notices_that_cannot_go_out_for_long_are_all_told(desk: Desk) -> None:
    """The mail server is away for eight windows."""
    watch = desk.watch(HOURLY)
    assert watch.look() == []
    found = through_the_morning(desk, watch)
    assert hours(found) == [1, 2, 3, 4, 5, 6, 7, 8]
    assert hours(desk.watch(HOURLY).look()) == [1, 2, 3, 4, 5, 6, 7, 8]  # also after a restart
    for notice in found:
        watch.done(notice)
    assert watch.look() == []
    assert desk.watch(HOURLY).look() == []


def test_windows_that_passed_while_the_database_was_away_are_told(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: object) -> None:
        raise Unavailable("the database is away")

    watch = desk.watch(HOURLY)
    assert watch.look() == []
    with monkeypatch.context() as patched:
        patched.setattr(desk.store, "find", away)
        for hour in range(1, 8):
            desk.clock.set(f"2026-07-07T{hour:02}:31")
            with pytest.raises(Unavailable):
                watch.look()
    desk.clock.set("2026-07-07T08:31")
    assert hours(watch.look()) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_deadlines_many_windows_later_pass_while_nobody_watches(desk: Desk) -> None:
    slow = Expectation(
        name="slow", window=Window("H"), by="5h30m", events=(HttpEvent(post="A", name="A"),)
    )
    assert desk.watch(slow).look() == []  # at 01:00: asks from the window of 20:00 on
    desk.clock.set("2026-07-07T07:45")
    assert hours(desk.watch(slow).look()) == [20, 21, 22, 23, 0, 1, 2]
