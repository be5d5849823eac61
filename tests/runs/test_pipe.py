"""A tap and a target in a plain pipe, killed at any moment: the lake says what can be seen."""

from __future__ import annotations

from pathlib import Path

import pytest

from singerlake.lake import check, open_lake
from tests.faults.scale import scaled
from tests.lake.landing import QUICK as QUICK_LOCKS
from tests.runs.loads import BETWEEN, MOMENTS, QUICK, load, looks_complete, rows_of, runs_of
from tests.target.driving import forked, land

ALL = list(range(8))
moments = pytest.mark.parametrize("moment", scaled([0, 1, 6, 10, 19], [*range(MOMENTS)]))


def with_a_load(root: Path) -> Path:
    """A lake with a whole load before."""
    land(load(0), root, **QUICK)
    assert rows_of(root, "orders") == ALL
    return root


def is_whole(root: Path) -> None:
    """Nothing is damaged; a crash may leave things over, which are mended."""
    store = open_lake(root).store
    check(store, fix=True, times=QUICK_LOCKS)
    assert check(store, times=QUICK_LOCKS).clean


@moments
def test_a_tap_that_dies_is_not_complete_where_the_state_shows_it(
    tmp_path: Path, moment: int
) -> None:
    root = with_a_load(tmp_path / "lake")
    sent = load(100)[:moment]
    with forked(root, **QUICK) as target:
        target.send(*sent)
        target.input.close()
        assert target.wait().code == 0
    assert runs_of(root)[-1].outcome == ("complete" if looks_complete(sent) else "ended")
    if not looks_complete(sent):
        assert rows_of(root, "orders") == ALL
    is_whole(root)


def test_the_one_case_that_a_plain_pipe_cannot_see(tmp_path: Path) -> None:
    """The tap dies between two streams, right after a STATE: docs/decisions/runs.md names it.

    `hits` was not sent, so its newest complete run is the one before; `orders` is whole. But the
    run counts as complete, and nothing in its input says otherwise. `singerlake land` sees it.
    """
    root = with_a_load(tmp_path / "lake")
    land(load(100)[:BETWEEN], root, **QUICK)
    assert runs_of(root)[-1].outcome == "complete"
    assert rows_of(root, "orders") == [100 + number for number in range(8)]
    assert rows_of(root, "hits") == list(range(5))


@moments
@pytest.mark.parametrize("both", [False, True], ids=["the target", "both"])
def test_a_target_that_dies_leaves_a_run_that_is_open_and_then_lost(
    tmp_path: Path, moment: int, both: bool
) -> None:
    root = with_a_load(tmp_path / "lake")
    with forked(root, **QUICK) as target:
        target.send(*load(100)[:moment])
        if moment > 6:
            target.next_state()  # so that something is committed, and something is not
        target.process.kill()
        if both:
            target.input.close()
        target.process.wait()
    unended = [run for run in runs_of(root) if not run.document]
    assert all(run.outcome == "open" for run in unended)
    assert len(unended) <= 1
    assert rows_of(root, "orders") == ALL
    land(load(200), root, **QUICK)
    assert [run.outcome for run in runs_of(root)] == [
        "complete",
        *("lost" for _ in unended),
        "complete",
    ]
    assert rows_of(root, "orders") == [200 + number for number in range(8)]
    is_whole(root)


def test_two_processes_with_one_run_id_are_two_runs(tmp_path: Path) -> None:
    root = tmp_path / "lake"
    patch = "import os; os.environ['MELTANO_RUN_ID'] = 'same'"
    with forked(root, patch, **QUICK) as one, forked(root, patch, **QUICK) as other:
        one.send(*load(0))
        other.send(*load(100)[:8])
        for target in (one, other):
            target.input.close()
            assert target.wait().code == 0
    runs = runs_of(root)
    assert [run.run_id for run in runs] == ["same", "same"]
    assert sorted(run.outcome for run in runs) == ["complete", "ended"]
    assert rows_of(root, "orders") == ALL


def test_a_run_without_records_is_there(tmp_path: Path) -> None:
    root = with_a_load(tmp_path / "lake")
    land([], root)
    assert [run.outcome for run in runs_of(root)] == ["complete", "ended"]
    empty = [line for line in load(0) if '"RECORD"' not in line]
    land(empty, root)
    assert runs_of(root)[-1].outcome == "complete"
    assert rows_of(root, "orders") == rows_of(root, "hits") == []
