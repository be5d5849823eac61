"""The table shows waits that are decided without it, and may be away."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from singerlake.errors import Unavailable
from singerlake.wait import HttpEvent, Wait, Waiter
from singerlake.wait.arrival import Arrival
from singerlake.wait.status.database import open_database
from singerlake.wait.status.mirror import Mirror
from singerlake.wait.status.store import StatusStore

NOW = datetime(2026, 3, 3, 6, tzinfo=timezone.utc)
EVENTS = tuple(HttpEvent(post=name, name=name, since=NOW) for name in "ab")


@pytest.fixture
def store(tmp_path: Path) -> StatusStore:
    return StatusStore(open_database(f"sqlite:///{tmp_path / 'waits.db'}"))


def states(store: StatusStore) -> dict[str, str]:
    return {row.name: row.state for row in store.rows("dag/run/task")}


def test_the_table_follows(store: StatusStore) -> None:
    wait = Wait("dag/run/task", EVENTS, NOW, deadline=NOW + timedelta(hours=1))
    waiter, mirror = Waiter(wait), Mirror(store, wait)
    a, b = waiter.questions(NOW)
    mirror.show(waiter.take([(a, None), (b, Unavailable("away"))], NOW).standings)
    assert states(store) == {"a": "waiting", "b": "waiting"}
    assert [row.error for row in store.rows()] == ["", "Unavailable: away"]
    mirror.show(waiter.take([(a, Arrival(time=NOW, position={}))], NOW).standings)
    assert states(store)["a"] == "received"
    over = NOW + timedelta(hours=1)
    # Another process, after a restart: received stays received.
    again = Mirror(store, wait)
    again.show(waiter.take([(b, None)], over).standings)
    assert states(store) == {"a": "received", "b": "missed"}
    assert [row.name for row in store.rows_under("dag/run/")] == ["a", "b"]
    assert store.rows_under("dag/r_n/") == []
    assert store.rows_under("Dag/run/") == []  # another DAG, which others may see


def test_what_was_not_written_is_written_later(
    store: StatusStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    wait = Wait("dag/run/task", EVENTS, NOW)
    waiter, mirror = Waiter(wait), Mirror(store, wait)
    questions = waiter.questions(NOW)
    arrived = [(one, Arrival(time=NOW, position={})) for one in questions]
    standings = waiter.take(arrived, NOW).standings
    with monkeypatch.context() as patched:
        patched.setattr(store, "receive", _away)
        with pytest.raises(Unavailable):
            mirror.show(standings)
    mirror.show(standings)
    assert states(store) == {"a": "received", "b": "received"}


def _away(*_: object) -> None:
    raise Unavailable("the database is away")


def test_what_was_received_stays_received_where_nobody_can_know(store: StatusStore) -> None:
    """After a restart the source is away, until the deadline."""
    over = NOW + timedelta(hours=1)
    wait = Wait("dag/run/task", EVENTS, NOW, deadline=over)
    first = Waiter(wait)
    a, b = first.questions(NOW)
    there = Arrival(time=NOW, position={"at": 1}, text="post 1")
    Mirror(store, wait).show(first.take([(a, there), (b, there)], NOW).standings)
    changed = replace(wait, events=(EVENTS[0], HttpEvent(post="other", name="b", since=NOW)))
    second = Waiter(changed)
    second.remember(Mirror(store, changed).known())
    a, b = second.questions(over)
    progress = second.take([(a, Unavailable("away")), (b, Unavailable("away"))], over)
    assert [one.state for one in progress.standings] == ["received", "missed"]
    assert progress.standings[0].arrival == there
    # Who can look believes what is there now.
    third = Waiter(wait)
    third.remember(Mirror(store, wait).known())
    progress = third.take([(one, None) for one in third.questions(over)], over)
    assert not progress.received
