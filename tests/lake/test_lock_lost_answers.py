"""Answers of the store about a lock that are lost, or late."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from singerlake.errors import AlreadyExists, Changed, OutcomeUnknown
from singerlake.lake import lock
from singerlake.store import Store
from tests.lake.faulty_store import (
    LOCK_CREATE,
    LOCK_DELETE,
    LOCK_REPLACE,
    At,
    Intercepting,
    LosingAnswers,
    Lost,
    Recording,
    Result,
)
from tests.lake.landing import PATIENT, QUICK, new_store, objects_in
from tests.lake.locking import KEY, Clock, Waiter, record, until


@pytest.mark.parametrize("answer", [OutcomeUnknown, AlreadyExists])
def test_a_lost_answer_to_the_locks_create_is_found_by_reading_it_back(
    answer: type[Exception],
) -> None:
    store = new_store()
    faulty = LosingAnswers(store, Lost(LOCK_CREATE, answer))
    with lock.held(faulty, KEY, "me", PATIENT):
        assert faulty.happened == 1
        assert b'"me"' in store.read(KEY).data
    assert objects_in(store) == []


@pytest.mark.parametrize("answer", [OutcomeUnknown, Changed])
def test_a_lost_answer_to_a_take_over_is_found_by_reading_it_back(answer: type[Exception]) -> None:
    store = new_store()
    store.create(KEY, record("dead"))
    faulty = LosingAnswers(store, Lost(LOCK_REPLACE, answer))
    with lock.held(faulty, KEY, "me", QUICK):
        assert faulty.happened == 1
        assert b'"me"' in store.read(KEY).data
    assert objects_in(store) == []


class ArrivingLate(Intercepting):
    """The first write of a kind gets no answer, and arrives after the next look at the lock."""

    def __init__(self, inner: Store, at: At) -> None:
        super().__init__(inner)
        self._at = at
        self._late: Callable[[], object] | None = None
        self.happened = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if not self.happened and self._at(method, key):
            self.happened = True
            self._late = call
            raise OutcomeUnknown("hangs on purpose")
        try:
            return call()
        finally:
            if self._late is not None and method == "read":
                late, self._late = self._late, None
                late()


@pytest.mark.parametrize("at", [LOCK_CREATE, LOCK_REPLACE])
def test_a_writer_does_not_wait_for_its_own_lock_that_came_late(at: At, clock: Clock) -> None:
    store = new_store()
    if at is LOCK_REPLACE:
        store.create(KEY, record("dead"))
    late = ArrivingLate(store, at)
    waiter = Waiter(late)
    if at is LOCK_REPLACE:
        waiter.looks_again()
        clock.seconds += PATIENT.stale_after
    until(waiter.inside.is_set, 5.0)
    assert late.happened
    waiter.leave()
    assert objects_in(store) == []


@pytest.mark.parametrize("answer", [OutcomeUnknown, Changed])
def test_a_lost_answer_to_a_refresh_does_not_lose_the_lock(
    answer: type[Exception], caplog: pytest.LogCaptureFixture
) -> None:
    store = new_store()
    faulty = LosingAnswers(store, Lost(LOCK_REPLACE, answer))
    recording = Recording(faulty)
    with lock.held(recording, KEY, "me", replace(PATIENT, refresh_every=0.02)):
        until(lambda: recording.count(LOCK_REPLACE) >= 4)
    assert faulty.happened == 1
    assert objects_in(store) == []
    assert "lost the lock" not in caplog.text


@pytest.mark.parametrize("answer", [OutcomeUnknown, Changed])
def test_a_lost_answer_to_the_release_is_no_error(answer: type[Exception]) -> None:
    store = new_store()
    with lock.held(LosingAnswers(store, Lost(LOCK_DELETE, answer)), KEY, "me", PATIENT):
        pass
    assert objects_in(store) == []
