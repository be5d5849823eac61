"""What `Tap.runs` says: by documents, and of runs that left commits and no document."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singerlake.errors import UnknownTap
from singerlake.format import manifest as manifests
from singerlake.format.run import RunStream
from singerlake.format.run_keys import RunKeys
from singerlake.lake import Lake, Run, clock, newest_complete, open_on
from singerlake.lake.runs import documents, end, ending, history, marking
from singerlake.lake.runs import log as logs
from singerlake.lake.writer import Writer
from singerlake.store import Counting
from tests.lake.landing import EPOCH, TAP, new_store, record_line, schema_line
from tests.lake.runs.made import RUNS, made


def a_lake() -> Lake:
    return open_on(new_store(), create=True)


def land(lake: Lake, run_id: str, *streams: str, commits: int = 1) -> Writer:
    """Commits of a run that does not end."""
    with lake.writer(TAP, run_id) as writer:
        for number in range(commits):
            for stream in streams:
                writer.write(schema_line(stream))
                writer.write(record_line(number, stream))
            writer.commit()
    return writer


def ended(lake: Lake, run_id: str, *streams: str, **fields: object) -> None:
    """A run that lands, and ends with a document."""
    before = {run.identity for run in lake.tap(TAP).runs(open=True)} if lake.taps() else set()
    writer = land(lake, run_id, *streams)
    run = next(one for one in lake.tap(TAP).runs(open=True) if one.identity not in before)
    named: dict[str, Any] = {
        "run_id": run_id,
        "writer_id": writer.writer_id,
        "begun": run.begun,
        "ended": run.ended,
        "streams": dict(run.streams),
    }
    end(lake.store, made(0, **{**named, **fields}))


def outcomes(lake: Lake, **options: object) -> list[tuple[str, str]]:
    runs = lake.tap(TAP).runs(open=True, **options)  # type: ignore[arg-type]
    return [(run.run_id, run.outcome) for run in runs]


def test_a_tap_that_is_not_there_is_an_error() -> None:
    with pytest.raises(UnknownTap):
        a_lake().tap("tap-none").runs()


def test_a_run_without_a_document_is_open_and_then_lost() -> None:
    lake = a_lake()
    writer = land(lake, "one", "orders", "hits", commits=3)
    run = lake.tap(TAP).runs(open=True)[0]
    assert (run.run_id, run.writer_id, run.outcome) == ("one", writer.writer_id, "open")
    assert run.streams["orders"].first_sequence == 1
    assert run.streams["orders"].last_sequence == 3
    assert run.records == 6
    assert run.streams["orders"].log_id == lake.stream(TAP, "orders").snapshot().manifest.log_id
    assert outcomes(lake, lost_after=timedelta(0)) == [("one", "lost")]
    assert lake.tap(TAP).runs() == []


def test_a_later_run_of_the_same_stream_makes_it_lost() -> None:
    lake = a_lake()
    land(lake, "one", "orders")
    land(lake, "two", "hits")
    assert outcomes(lake) == [("one", "open"), ("two", "open")]
    land(lake, "three", "hits")
    assert outcomes(lake) == [("one", "open"), ("two", "lost"), ("three", "open")]
    ended(lake, "four", "orders")
    assert outcomes(lake)[0] == ("one", "lost")
    assert outcomes(lake)[-1] == ("four", "complete")


def test_a_run_of_a_clock_that_is_ahead_follows_nobody() -> None:
    lake = a_lake()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "now", lambda: datetime.now(timezone.utc) + timedelta(days=300))
        ended(lake, "ahead", "orders")
    land(lake, "at work", "orders")
    assert dict(outcomes(lake)) == {"ahead": "complete", "at work": "open"}
    ended(lake, "next", "orders")
    assert dict(outcomes(lake))["at work"] == "lost"


def test_a_document_without_a_row_counts() -> None:
    lake = a_lake()
    writer = land(lake, "one", "orders")
    documents.create(lake.store, RUNS, made(0, run_id="one", writer_id=writer.writer_id))
    assert outcomes(lake) == [("one", "complete")]


def test_with_a_limit_old_commits_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    lake = a_lake()
    land(lake, "lost-long-ago", "orders", commits=20)
    for number in range(3):
        ended(lake, f"run-{number}", "orders")
    land(lake, "open", "orders")
    counting = Counting(lake.store)
    seen = Lake(counting).tap(TAP).runs(open=True, limit=2)
    assert [(run.run_id, run.outcome) for run in seen] == [("run-2", "complete"), ("open", "open")]
    # The log twice, the catalogue, the manifest, and no more than the newest segment.
    assert counting.counts["read"] <= 6


def test_with_a_limit_a_run_is_seen_that_committed_before_all_that_ended() -> None:
    lake = a_lake()
    land(lake, "overtaken", "orders")
    ended(lake, "quick", "orders")
    every = [("overtaken", "lost"), ("quick", "complete")]
    assert outcomes(lake, limit=5) == outcomes(lake) == every


def test_with_a_limit_a_correction_hides_no_newer_run() -> None:
    lake = a_lake()
    for number in range(5):
        ended(lake, f"run-{number}", "orders")
    marking.mark(lake.store, TAP, _runs(lake)[0].document, "failed", by="me")
    every = outcomes(lake)
    assert every[0] == ("run-0", "failed")
    for limit in range(1, 6):
        assert outcomes(lake, limit=limit) == every[-limit:]
        assert [run.run_id for run in lake.tap(TAP).runs(limit=limit)] == [
            run_id for run_id, _ in every[-limit:]
        ]


def test_with_a_limit_several_rows_of_a_run_are_one_run() -> None:
    store = a_lake().store
    for number in range(4):
        end(store, made(number))
    ending.append(store, RUNS, logs.read_head(store, RUNS), [made(3, outcome="failed")])
    runs = history.logged(store, TAP, limit=3)
    assert [(run.run_id, run.outcome) for run in runs] == [
        ("run-1", "complete"),
        ("run-2", "complete"),
        ("run-3", "failed"),
    ]


def test_with_a_limit_commits_of_older_runs_are_not_lost_ones() -> None:
    lake = a_lake()
    with pytest.MonkeyPatch.context() as patch:
        # On a machine whose clock is ahead.
        patch.setattr(clock, "now", lambda: datetime.now(timezone.utc) + timedelta(days=300))
        ended(lake, "ahead", "orders")
    for number in range(3):
        ended(lake, f"run-{number}", "hits")
    assert ("ahead", "complete") in outcomes(lake)
    assert outcomes(lake, limit=2) == [("run-1", "complete"), ("run-2", "complete")]


def test_the_newest_complete_run_of_a_stream() -> None:
    lake = a_lake()
    store = lake.store
    end(store, made(1, streams={"orders": RunStream(), "hits": RunStream()}))
    end(store, made(2, outcome="ended"))
    end(store, made(3, outcome="failed"))
    runs = _runs(lake)
    assert _id(newest_complete(runs, "orders")) == "run-1"
    assert newest_complete(runs, "other") is None
    end(store, made(4))
    runs = _runs(lake)
    assert _id(newest_complete(runs, "orders")) == "run-4"
    assert _id(newest_complete(runs, "hits")) == "run-1"


def test_a_row_that_came_late_is_not_the_newest_run() -> None:
    lake = a_lake()
    end(lake.store, made(2))
    end(lake.store, made(1, begun=EPOCH))
    assert [run.run_id for run in _runs(lake)] == ["run-1", "run-2"]
    assert [run.number for run in _runs(lake)] == [2, 1]


def _runs(lake: Lake) -> list[Run]:
    return lake.tap(RunKeys(TAP).tap_id).runs()


def _id(run: Run | None) -> str:
    assert run is not None
    return run.run_id
