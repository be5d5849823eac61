"""Corrections by hand: the document first, then a row that counts."""

from __future__ import annotations

from itertools import count

import pytest

from singerlake.errors import Changed, NotFound, OutcomeUnknown
from singerlake.lake import open_on
from singerlake.lake.runs import documents, end
from singerlake.lake.runs.marking import mark
from singerlake.store import Store
from tests.lake.faulty_store import At, Crashing, Died, LosingAnswers, Lost
from tests.lake.landing import QUICK, TAP, assert_clean, check, copy_of, land, new_store
from tests.lake.runs.made import RUNS, made

NAME = made(1).name


def with_runs() -> Store:
    store = new_store()
    land(store, [1])
    for number in range(3):
        end(store, made(number))
    return store


def outcome(store: Store) -> str:
    found = {run.run_id: run for run in open_on(store).tap(TAP).runs()}
    return found["run-1"].outcome


def test_the_document_and_the_last_row_say_it() -> None:
    store = with_runs()
    mark(store, TAP, NAME, "failed", by="ann", reason="no")
    mark(store, TAP, NAME, "failed", by="bob")
    run, _ = documents.read(store, RUNS, NAME)
    assert run.mark is not None
    assert (run.outcome, run.mark.by, run.mark.before) == ("failed", "ann", "complete")
    assert outcome(store) == "failed"
    assert open_on(store).tap(TAP).runs()[1].reason == "no"
    mark(store, TAP, NAME, "complete", by="ann")
    assert outcome(store) == "complete"
    assert [run.number for run in open_on(store).tap(TAP).runs()] == [1, 5, 3]
    assert_clean(store)
    with pytest.raises(NotFound):
        mark(store, TAP, made(9).name, "failed", by="ann")


@pytest.mark.parametrize("at", [At("replace", "writer-1.json"), At("replace", "log.json")])
@pytest.mark.parametrize("answer", [OutcomeUnknown, Changed])
def test_a_lost_answer_marks_once(at: At, answer: type) -> None:
    store = with_runs()
    losing = LosingAnswers(store, Lost(at, answer))
    mark(losing, TAP, NAME, "failed", by="ann")
    assert losing.happened == 1
    assert [run.number for run in open_on(store).tap(TAP).runs()] == [1, 4, 3]
    assert_clean(store)


def test_a_crash_at_any_request_is_mended_by_a_check() -> None:
    for at, after in ((at, after) for at in count(1) for after in (False, True)):
        store = copy_of(with_runs())
        try:
            mark(Crashing(store, at, after), TAP, NAME, "failed", by="ann")
        except Died:
            pass
        else:
            break
        check(store, fix=True, times=QUICK)
        assert_clean(store)
        assert outcome(store) == documents.read(store, RUNS, NAME)[0].outcome
