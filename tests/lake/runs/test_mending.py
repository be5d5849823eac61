"""Check, fix and rebuild know the runs: documents, log, segments, and what is missing of them."""

from __future__ import annotations

from itertools import count

import msgspec
import pytest

from singerlake.format import run as runs
from singerlake.format import run_log
from singerlake.lake import Level, check, open_on, rebuild
from singerlake.lake.runs import documents, end
from singerlake.lake.runs import log as logs
from singerlake.store import DryRun, Store
from tests.lake.faulty_store import At, Crashing, Died, Gate, Pausing, in_thread
from tests.lake.landing import QUICK, TAP, assert_clean, codes, copy_of, land, new_store, overwrite
from tests.lake.runs.made import RUNS, made


@pytest.fixture(autouse=True)
def small_logs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_log, "FAN_OUT", 2)


def with_runs(number: int) -> Store:
    """A lake with a record and some runs."""
    store = new_store()
    land(store, [1])
    for index in range(number):
        end(store, made(index))
    return store


def ids(store: Store) -> list[str]:
    rows = list(logs.rows(store, RUNS, logs.read_head(store, RUNS).log))
    assert [row.number for row in rows] == list(range(1, len(rows) + 1))
    return [row.run_id for row in rows]


def found(store: Store) -> list[str]:
    return codes(check(store, times=QUICK), Level.ERROR, Level.LEFTOVER)


def fixed(store: Store) -> None:
    check(store, fix=True, times=QUICK)
    assert_clean(store)


def test_runs_are_clean_and_a_tap_of_nothing_but_runs_is_known() -> None:
    assert_clean(with_runs(9))
    store = new_store()
    open_on(store, create=True)
    end(store, made(1))
    assert found(store) == ["lake-document-tap"]
    fixed(store)
    assert open_on(store).tap(TAP).runs()[0].run_id == "run-1"


def test_a_document_without_a_row() -> None:
    store = with_runs(9)
    documents.create(store, RUNS, made(0, run_id="early"))
    documents.create(store, RUNS, made(20))
    assert found(store) == ["run-unlogged", "run-unlogged"]
    fixed(store)
    assert ids(store) == [*(f"run-{number}" for number in range(9)), "early", "run-20"]


def test_a_log_that_is_not_there() -> None:
    store = with_runs(9)
    head = logs.read_head(store, RUNS)
    store.delete(RUNS.log)
    assert set(found(store)) == {"run-log-missing", "orphan-segment"}
    fixed(store)
    assert ids(store) == [f"run-{number}" for number in range(9)]
    assert logs.read_head(store, RUNS).log.log_id != head.log.log_id


@pytest.mark.parametrize("what", ["log", "segment", "other tap", "hole"])
def test_a_log_that_cannot_be_read(what: str) -> None:
    store = with_runs(9)
    log = logs.read_head(store, RUNS).log
    if what == "log":
        overwrite(store, RUNS.log, b'{"format":')
    elif what == "segment":
        store.delete(RUNS.under(log.segments[0].path))
    elif what == "other tap":
        other = msgspec.structs.replace(log, tap_id="other")
        overwrite(store, RUNS.log, run_log.encode(other))
    else:
        short = msgspec.structs.replace(log, segments=log.segments[1:])
        overwrite(store, RUNS.log, run_log.encode(short))
    assert "run-log-corrupt" in found(store)
    fixed(store)
    assert ids(store) == [f"run-{number}" for number in range(9)]


def test_a_document_that_is_gone_or_wrong() -> None:
    store = with_runs(3)
    store.delete(RUNS.under(made(1).name))
    assert found(store) == ["run-missing"]
    log_id = logs.read_head(store, RUNS).log.log_id
    check(store, fix=True, times=QUICK)
    assert ids(store) == ["run-0", "run-1", "run-2"]  # a check does not throw rows away
    rebuild(store)
    assert_clean(store)
    assert ids(store) == ["run-0", "run-2"]
    assert logs.read_head(store, RUNS).log.log_id != log_id
    overwrite(store, RUNS.under(made(2).name), runs.encode(made(5)))
    assert found(store) == ["run-corrupt"]
    report = rebuild(store)
    assert made(5).name in report.skipped[0]
    assert ids(store) == ["run-0", "run-2"]


def test_a_row_that_says_something_else() -> None:
    store = with_runs(3)
    overwrite(store, RUNS.under(made(1).name), runs.encode(made(1, outcome="failed")))
    assert found(store) == ["run-differs"]
    fixed(store)
    assert ids(store) == ["run-0", "run-1", "run-2", "run-1"]
    seen = open_on(store).tap(TAP).runs()
    assert [(run.run_id, run.outcome) for run in seen][1] == ("run-1", "failed")


def test_a_rebuild_keeps_what_it_can_and_never_makes_a_document() -> None:
    store = with_runs(9)
    before = {row.key: store.read(row.key).data for row in store.list(RUNS.folder)}
    report = rebuild(store)
    assert report.runs == 9
    assert report.renumbered == []
    assert {row.key: store.read(row.key).data for row in store.list(RUNS.folder)} == before
    for row in [*store.list(RUNS.folder)]:
        store.delete(row.key)
    land(store, [2])
    rebuild(store)
    assert [*store.list(RUNS.folder)] == []
    assert_clean(store)


def test_a_dry_rebuild_changes_nothing() -> None:
    store = with_runs(9)
    store.delete(RUNS.log)
    before = [row.key for row in store.list("")]
    assert rebuild(DryRun(store)).runs == 9
    assert [row.key for row in store.list("")] == before


def test_a_crash_at_any_request_of_a_mending_is_mended() -> None:
    damaged = with_runs(9)
    store_delete = logs.read_head(damaged, RUNS).log.segments[0].path
    damaged.delete(RUNS.under(store_delete))
    for at, after in ((at, after) for at in count(1) for after in (False, True)):
        store = copy_of(damaged)
        try:
            check(Crashing(store, at, after), fix=True, times=QUICK)
        except Died:
            pass
        else:
            break
        fixed(store)
        assert sorted(ids(store)) == sorted(f"run-{number}" for number in range(9))


def test_a_run_that_ends_beside_a_rebuild_is_there_once() -> None:
    store = with_runs(9)
    overwrite(store, RUNS.log, b"{}")
    gate = Gate(At("replace", "_runs/log.json"))
    slow = in_thread(rebuild, Pausing(store, gate))
    gate.wait()
    rebuild(store)
    end(store, made(100))
    gate.open()
    slow.result()
    assert sorted(ids(store)) == sorted([*(f"run-{number}" for number in range(9)), "run-100"])
    assert_clean(store)


def test_foreign_objects_beside_the_runs_are_left_alone() -> None:
    store = with_runs(2)
    store.create(RUNS.under("notes.txt"), b"mine")
    fixed(store)
    assert store.read(RUNS.under("notes.txt")).data == b"mine"
    assert "foreign-object" in codes(check(store, times=QUICK), Level.NOTE)
