"""`singerlake runs`: what ran, how it ended, and corrections by hand."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.format.run import RunStream
from singerlake.lake import check, open_lake
from singerlake.lake.runs import end
from tests.cli.lake import EVIL, MONDAY, TAP, contents, run, said, told
from tests.lake.runs.made import made


@pytest.fixture
def ran(sound: Path) -> Path:
    """The lake, with three runs that ended, beside those that its writers left open."""
    store = open_lake(sound).store
    for number, outcome in enumerate(["complete", "ended", "failed"]):
        begun = MONDAY + timedelta(days=300, hours=number)
        streams = {"orders": RunStream(records=1000 * number), "hits": RunStream(records=1)}
        ids = {"tap_id": TAP, "run_id": f"load-{number}", "writer_id": "w"}
        end(store, made(number, begun=begun, outcome=outcome, streams=streams, **ids))
    return sound


def test_runs_are_listed_the_newest_last(ran: Path) -> None:
    lines = said("runs", ran, TAP, "--limit", "3").splitlines()
    assert lines[0].split()[:2] == ["begun", "(UTC)"]
    assert [line.split()[-1] for line in lines[1:]] == ["load-0", "load-1", "load-2"]
    assert [line.split()[2] for line in lines[1:]] == ["complete", "ended", "failed"]
    assert "2,001" in lines[3]
    assert "0:05:00" in lines[3]
    assert said("runs", "list", ran, "--tap", TAP, "--limit", "3").splitlines() == lines


def test_json_has_all_that_is_known(ran: Path) -> None:
    found = told("runs", ran, TAP, "--limit", "1")["runs"]
    assert [(one["run_id"], one["outcome"], one["records"]) for one in found] == [
        ("load-2", "failed", 2001)
    ]
    assert found[0]["streams"]["orders"]["records"] == 2000
    assert found[0]["number"] == 3


def test_runs_without_a_document_are_lost(ran: Path) -> None:
    outcomes = {one["outcome"] for one in told("runs", ran, "--limit", "100")["runs"]}
    assert outcomes == {"complete", "ended", "failed", "lost"}


def test_a_lake_without_runs_and_a_tap_that_is_not_there(tmp_path: Path) -> None:
    open_lake(tmp_path, create=True)
    assert said("runs", tmp_path) == "No runs.\n"
    assert run("runs", tmp_path, "tap-none").exit_code == 2


def test_hostile_ids_are_shown_harmless(ran: Path) -> None:
    begun = MONDAY + timedelta(days=400)
    end(open_lake(ran).store, made(9, begun=begun, tap_id=TAP, run_id=EVIL, writer_id="w"))
    assert "\x1b" not in said("runs", ran)
    assert told("runs", ran)["runs"][-1]["run_id"] == EVIL


def test_a_mark_only_reports_until_it_is_applied(ran: Path) -> None:
    before = contents(ran)
    assert "load-0 of" in said("runs", "mark", ran, "load-0", "failed")
    assert contents(ran) == before
    assert "complete → failed" in said("runs", "mark", ran, TAP, "load-0", "failed", "--apply")
    found = {one["run_id"]: one for one in told("runs", ran, TAP, "--limit", "3")["runs"]}
    assert found["load-0"]["outcome"] == "failed"
    assert found["load-0"]["number"] == 4
    assert found["load-0"]["mark"]["before"] == "complete"
    assert "already" in said("runs", "mark", ran, "load-0", "failed", "--apply")
    assert check(open_lake(ran).store).clean
    said("rebuild", ran, "--apply")
    again = {one["run_id"]: one for one in told("runs", ran, TAP, "--limit", "3")["runs"]}
    assert again == found


def test_a_mark_says_who_and_why(ran: Path) -> None:
    words = ("--reason", "the key was wrong", "--by", "ann", "--apply", "--json")
    answer = json.loads(said("runs", "mark", ran, "load-1", "complete", *words))
    assert (answer["applied"], answer["before"]) == (True, "ended")
    mark = told("runs", ran, TAP, "--limit", "2")["runs"][0]["mark"]
    assert (mark["by"], mark["reason"]) == ("ann", "the key was wrong")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("load-0",), "expected RUN and one of"),
        (("load-0", "good"), "expected RUN and one of"),
        (("load-9", "failed"), "no run 'load-9'"),
        (("load-", "failed"), "begin with 'load-'"),
        (("load-0", "failed", "--writer", "other"), "no run 'load-0'"),
    ],
)
def test_wrong_use_of_mark(ran: Path, words: tuple[str, ...], message: str) -> None:
    result = run("runs", "mark", ran, *words)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_a_run_without_a_document_cannot_be_marked(ran: Path) -> None:
    lost = next(one for one in told("runs", ran, "--limit", "99")["runs"] if not one["document"])
    which = (lost["tap_id"], lost["run_id"], "complete", "--writer", lost["writer_id"])
    result = run("runs", "mark", ran, *which, "--apply")
    assert result.exit_code == 2
    assert "has no document" in " ".join(result.output.split())
