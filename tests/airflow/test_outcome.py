"""What a task makes of a wait."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace
from typing import Any

import pytest
from jinja2 import Template

from singerlake.airflow.tab import page
from singerlake.airflow.waiting import outcome
from singerlake.errors import ConfigError, Unavailable
from singerlake.lake import Bookmark
from singerlake.wait import HttpEvent, LakeCommit, Wait, Waiter, Window
from singerlake.wait.arrival import Arrival
from singerlake.wait.event import to_json
from singerlake.wait.source.base import Question
from singerlake.wait.status.name import NAME, fitting
from singerlake.wait.status.store import Status
from singerlake.wait.waiter import Progress, given_up

NOW = datetime(2026, 3, 3, 6, tzinfo=timezone.utc)
BY = "2026-03-03T07:00:00+01:00"


def declared(*events: Any, **more: Any) -> Wait:
    known = {"at": "2026-03-03T00:00:00Z", "since": "2026-03-03T05:00:00Z", "deadline": BY}
    known |= {"need": None, **more}
    return outcome.declared("dag/run/task", to_json(events), **known)


def progress(wait: Wait, *arrived: str, now: datetime = NOW - timedelta(hours=1)) -> Progress:
    waiter = Waiter(wait)
    answers = [
        (one, Arrival(time=now, position={"at": 1}) if one.event.title in arrived else None)
        for one in waiter.questions(now)
    ]
    return waiter.take(answers, now)


A, B, C = (HttpEvent(post=name, name=name) for name in "abc")


def test_a_need_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="at_least"):
        declared(A, need={"at_least": "many"})


def test_events_begin_to_count_when_the_run_was_due() -> None:
    placed = LakeCommit(tap="t", stream="s", after=Bookmark("x", 1))
    wait = declared(A, HttpEvent(post="d", window=Window("D")), placed)
    begins = [getattr(event, "since", None) for event in wait.events]
    assert begins == [NOW - timedelta(hours=1), None, None]
    assert wait.deadline == NOW


@pytest.mark.parametrize(
    "text", ["", "tomorrow", "2026-03-03T07:00:00", "0001-01-01T00:00:00+05:00", None, 7]
)
def test_times_need_a_zone(text: Any) -> None:
    with pytest.raises(ConfigError, match="expected a time"):
        outcome.moment(text, "at")


@pytest.mark.parametrize(
    ("arrived", "is_over", "ended"),
    [
        ("", False, None),
        ("a", False, None),
        ("ab", False, "success"),
        ("a", True, "failed"),
        ("ab", True, "success"),
    ],
)
def test_one_task_for_all(arrived: str, is_over: bool, ended: str | None) -> None:
    wait = declared(A, B, C, need={"at_least": 2})
    now = NOW if is_over else NOW - timedelta(hours=1)
    found = progress(wait, *arrived, now=now)
    assert outcome.decided(found, None, soft_fail=False) == ended
    if ended == "failed":
        assert outcome.decided(found, None, soft_fail=True) == "skipped"


@pytest.mark.parametrize(
    ("arrived", "is_over", "ended"),
    [
        ("a", False, "success"),
        ("b", False, None),
        ("bc", False, "skipped"),
        ("abc", False, "success"),
        ("b", True, "failed"),
        ("bc", True, "skipped"),
    ],
)
def test_the_task_of_one_event_of_a_group(arrived: str, is_over: bool, ended: str | None) -> None:
    """Received stays received, whatever becomes of the others."""
    wait = declared(A, B, C, need={"at_least": 2})
    found = progress(wait, *arrived, now=NOW if is_over else NOW - timedelta(hours=1))
    assert outcome.decided(found, "a", soft_fail=False) == ended


def test_the_error_names_what_is_missing_and_why() -> None:
    wait = declared(A, B, C)
    waiter = Waiter(wait)
    questions: list[Question] = waiter.questions(NOW)
    answers = [Arrival(time=NOW, position={}), Unavailable("the lake is away"), None]
    found = waiter.take(zip(questions, answers, strict=True), NOW)
    text = outcome.complaint(found, None, wait.deadline)
    assert text == "missing at 2026-03-03 06:00:00 UTC: b (Unavailable: the lake is away), c"
    assert outcome.missing(found.standings) == ["b", "c"]
    assert list(outcome.arrivals(found.standings)) == ["a"]
    assert outcome.complaint(found, "c", wait.deadline).endswith("UTC: c")


def test_what_did_not_come_is_given_up_when_enough_is_there() -> None:
    found = progress(declared(A, B, C, need={"at_least": 2}), "a", "b")
    assert [one.state for one in found.standings] == ["received", "received", "waiting"]
    ended = given_up(found.standings)
    assert [one.state for one in ended] == ["received", "received", "missed"]


def test_names_of_waits_fit_and_differ() -> None:
    run = outcome.wait_name("dag", "manual__2026-03-03T06:00:00+00:00")
    assert run == "dag/manual__2026-03-03T06:00:00+00:00"
    assert outcome.wait_name("dag", "a/b", "c") != outcome.wait_name("dag", "a", "b/c")
    long = [outcome.wait_name("d" * 250, "r" * 250, "t" * 249 + end) for end in "xy"]
    assert len(set(long)) == 2
    assert max(map(len, long)) <= 250


def test_a_hostile_name_stays_text() -> None:
    evil = "<script>alert(1)</script>"
    row = Status(
        wait=evil, window=evil, name=evil, msg=evil, source_type="http", frequency="",
        state="waiting", late=False, error=evil,
    )  # fmt: skip
    for text in (page.page([row], evil), page.table([row])):
        assert "<script" not in text
        assert "&lt;script&gt;" in text
    assert "refresh" in page.page([row])
    assert "refresh" not in page.page([])


def test_a_task_that_is_mapped_makes_as_many_events() -> None:
    run = SimpleNamespace(dag_id="d", run_id="r")
    made = {
        index: Template(outcome.POST_ID).render(
            dag_run=run, ti=SimpleNamespace(task_id="t", map_index=index)
        )
        for index in (-1, 0, 1)
    }
    assert made == {-1: "d/r/t", 0: "d/r/t/0", 1: "d/r/t/1"}


@pytest.mark.parametrize("dag_id", ["plain", "t\u00e4glich", "\u6ce8\u6587", "\u6ce8" * 240])
def test_the_id_of_a_post_is_a_header(dag_id: str) -> None:
    found = outcome.post_header(fitting(f"{dag_id}/run/task"))
    assert found.encode("latin-1").isascii() or dag_id == "t\u00e4glich"
    assert len(found) <= NAME
