"""`lineage emit`: the target's events once more, from what the lake knows."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from singerlake.format.keys import StreamKeys
from singerlake.lake import open_lake, rebuild
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.lineage.emitter.emission import Emission
from singerlake.lineage.job.context import Context
from singerlake.lineage.job.history import Landings
from singerlake.runtime import Runtime
from tests.cli.lake import run, said, told
from tests.lineage.oracle import require_valid
from tests.lineage.receiver import receiving, run_events, steps
from tests.target import driving
from tests.target.driving import TAP_ID, schema, state, timed
from tests.target.test_lineage import PATIENT

MANY = [
    schema("orders"),
    schema("customers"),
    *(timed("orders", number) for number in range(9)),
    *(timed("customers", number) for number in range(3)),
    state({"at": 1}),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def landed(root: Path, content: list[str] = MANY, **config: Any) -> list[dict[str, Any]]:
    """Lands with lineage, two records to a file; returns the target's events."""
    with receiving() as receiver:
        outcome = driving.run(
            content,
            root,
            lineage=receiver.url,
            patch=PATIENT,
            max_file_records=2,
            commit_interval_seconds=0,
            **config,
        )
        assert outcome.code == 0, outcome.log
        return receiver.events


def emitted(*arguments: str | Path) -> list[dict[str, Any]]:
    found = [
        json.loads(line) for line in said("lineage", "emit", *arguments, "--to", "-").splitlines()
    ]
    for event in found:
        require_valid(event)
    return found


def commits(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """In the order of the streams: the target's threads take turns as they like."""
    found = run_events(events, "TASK")
    return sorted(found, key=lambda event: (event["job"]["name"], event["eventTime"]))


def ids(events: list[dict[str, Any]]) -> set[str]:
    return {event["run"]["runId"] for event in run_events(events)}


def test_the_target_s_events_come_again(root: Path) -> None:
    sent = landed(root)
    found = emitted(root)
    assert commits(found) == commits(sent)
    assert ids(found) == ids(sent)
    assert len(commits(found)) == 2 * (5 + 2)
    assert steps(found)[0] == (f"{TAP_ID}.land", "START")
    assert steps(found)[-1] == (f"{TAP_ID}.land", "COMPLETE")
    assert run_events(found, "JOB")[-1] == run_events(sent, "JOB")[-1] | {
        "eventTime": run_events(found, "JOB")[-1]["eventTime"]
    }


def test_a_vacuum_changes_no_event(root: Path) -> None:
    sent = landed(root)
    vacuum(open_lake(root).store, StreamKeys(TAP_ID, "orders"), VacuumOptions())
    assert commits(emitted(root)) == commits(sent)


def test_a_log_that_was_numbered_anew_has_other_runs(root: Path) -> None:
    """The control: the ids do depend on the log."""
    sent = landed(root)
    (root / StreamKeys(TAP_ID, "orders").manifest).unlink()
    rebuild(open_lake(root).store)
    found = emitted(root, TAP_ID, "orders")
    orders = {
        one["run"]["runId"] for one in commits(sent) if one["job"]["name"].endswith(".orders")
    }
    again = {one["run"]["runId"] for one in commits(found)}
    assert again
    assert not again & orders


def test_failed_and_stopped_runs_come_as_they_ended(root: Path) -> None:
    with receiving() as receiver:
        driving.run([*MANY, "no message"], root, lineage=receiver.url, patch=PATIENT)
        sent = receiver.events
    found = emitted(root)
    assert steps(found)[-1] == (f"{TAP_ID}.land", "FAIL")
    message = found[-1]["run"]["facets"]["errorMessage"]["message"]
    assert message == sent[-1]["run"]["facets"]["errorMessage"]["message"] == "BadMessage"
    assert ids(found) == ids(sent)


def test_since_a_number_or_a_time(root: Path) -> None:
    landed(root)
    later = landed(root, [schema("orders"), timed("orders", 100), state({"at": 2})])
    (newest,) = {event["run"]["runId"] for event in run_events(later, "TASK")}
    number = emitted(root, TAP_ID, "orders", "--since", "5")
    assert {event["run"]["runId"] for event in run_events(number, "TASK")} == {newest}
    time = run_events(later, "TASK")[0]["eventTime"]
    assert {one["run"]["runId"] for one in commits(emitted(root, "--since", time))} == {newest}
    assert run("lineage", "emit", root, "--since", "5", "--to", "-").exit_code == 2


def test_the_state_says_what_was_sent(root: Path, tmp_path: Path) -> None:
    landed(root)
    state_file = tmp_path / "state.json"
    assert len(commits(emitted(root, "--state", state_file))) == 14
    assert emitted(root, "--state", state_file) == []
    landed(root, [schema("orders"), timed("orders", 100), state({"at": 2})])
    assert len(commits(emitted(root, "--state", state_file))) == 2
    state_file.write_text("{}")
    assert run("lineage", "emit", root, "--state", state_file, "--to", "-").exit_code == 2


def test_what_is_not_taken_stays_before_the_state(root: Path, tmp_path: Path) -> None:
    landed(root)
    state_file = tmp_path / "state.json"
    lake = open_lake(root)
    taken: list[bytes] = []

    def refuse_after_three(event: bytes) -> None:
        from singerlake.errors import NoAnswer

        if len(taken) == 3:
            raise NoAnswer("gone")
        taken.append(event)

    emission = Emission(
        lake.feed(),
        Landings(lake, Context()),
        refuse_after_three,
        lambda _: None,
        lambda _: None,
        _NoWaiting(),
    )
    with pytest.raises(Exception, match="gone"):
        emission.once(tries=2)
    assert not state_file.exists()
    assert emission.emitted.events == 3


class _NoWaiting(Runtime):
    def wait(self, woken: threading.Event, seconds: float) -> bool:
        return woken.is_set()


def test_following_sends_what_comes(root: Path) -> None:
    landed(root)
    lake, sent, kept = open_lake(root), list[bytes](), list[Cursor]()
    feed = lake.feed(options=_always())
    emission = Emission(
        feed, Landings(lake, Context()), sent.append, kept.append, lambda _: None, _NoWaiting()
    )
    rounds = emission.follow(0.01)
    next(rounds)
    before = len(sent)
    landed(root, [schema("orders"), timed("orders", 100), state({"at": 2})])
    next(rounds)
    new = [json.loads(each) for each in sent[before:]]
    assert [kind for _, kind in steps(new)] == ["START", "START", "COMPLETE", "COMPLETE"]
    assert kept[-1].bookmarks[TAP_ID, "orders"].sequence == 6


def _always() -> Any:
    from singerlake.lake.feed.options import FeedOptions

    return FeedOptions(poll_seconds=0.001, idle_seconds=0.001)


def test_over_http(root: Path) -> None:
    landed(root)
    with receiving() as receiver:
        answer = told("lineage", "emit", root, "--to", receiver.url)
        assert answer == {"to": receiver.url, "events": 16, "refused": 0}
        first = receiver.events
        said("lineage", "emit", root, "--to", receiver.url)
        assert receiver.events[len(first) :] == first
    with receiving(400) as receiver:
        assert told("lineage", "emit", root, "--to", receiver.url, code=1)["refused"] == 16


def test_without_a_place_to_send_to(root: Path) -> None:
    landed(root)
    result = run("lineage", "emit", root, OPENLINEAGE_URL=None, OPENLINEAGE_CONFIG=None)
    assert result.exit_code == 2
    assert "OPENLINEAGE_URL" in result.stderr


def test_a_stream_that_cannot_be_read_stops_no_other(root: Path) -> None:
    landed(root)
    (root / StreamKeys(TAP_ID, "orders").manifest).write_text("{}")
    result = run("lineage", "emit", root, "--to", "-")
    assert result.exit_code == 1
    assert "CorruptDocument" in result.stderr
    found = [json.loads(line) for line in result.stdout.splitlines()]
    assert {one["job"]["name"] for one in commits(found)} == {f"{TAP_ID}.land.customers"}
