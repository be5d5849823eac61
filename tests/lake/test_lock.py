"""Holding a lock, waiting for it, and taking over one whose holder is gone."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from singerlake.errors import Changed, LockTimeout
from singerlake.format import lock_record
from singerlake.lake import lock
from singerlake.lake.patience import Patience
from tests.lake.faulty_store import (
    LOCK_CREATE,
    LOCK_READ,
    LOCK_REPLACE,
    MANIFEST_REPLACE,
    BestEffort,
    Gate,
    Hooked,
    Intercepting,
    Pausing,
    Result,
    in_thread,
)
from tests.lake.landing import (
    PATIENT,
    land,
    lock_key,
    new_store,
    objects_in,
)
from tests.lake.locking import KEY, Clock, Waiter, record, refresh, until


def test_a_lock_is_taken_over_only_when_it_did_not_change_for_the_stale_time(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    store = new_store()
    store.create(KEY, record("sleeper"))
    waiter = Waiter(store)
    waiter.looks_again()
    clock.seconds += PATIENT.stale_after - 0.1
    waiter.looks_again()
    assert not waiter.inside.is_set()
    with caplog.at_level(logging.WARNING, "singerlake.lock"):
        clock.seconds += 0.1
        until(waiter.inside.is_set)
    assert "took over the stale lock" in caplog.text
    assert "sleeper" in caplog.text
    waiter.leave()
    assert objects_in(store) == []


def test_a_refreshed_lock_is_never_taken_over(clock: Clock) -> None:
    store = new_store()
    store.create(KEY, record())
    waiter = Waiter(store)
    for _ in range(10):
        waiter.looks_again()
        clock.seconds += PATIENT.stale_after - 0.1
        waiter.looks_again()
        assert not waiter.inside.is_set()
        refresh(store)
    assert waiter.store.count(LOCK_REPLACE) == 0
    store.delete(KEY)
    until(waiter.inside.is_set)
    waiter.leave()


def test_a_refresh_between_the_waiters_last_look_and_its_take_over_wins(clock: Clock) -> None:
    store = new_store()
    store.create(KEY, record())
    gate = Gate(LOCK_REPLACE)
    waiter = Waiter(Pausing(store, gate))
    waiter.looks_again()
    clock.seconds += PATIENT.stale_after
    gate.wait()
    refresh(store)
    gate.open()
    waiter.looks_again()
    assert not waiter.inside.is_set()
    store.delete(KEY)
    until(waiter.inside.is_set)
    waiter.leave()


@pytest.mark.parametrize("year", [1970, 2026, 9999])
def test_what_the_holders_clock_says_does_not_matter(clock: Clock, year: int) -> None:
    store = new_store()
    store.create(KEY, record(moment=datetime(year, 1, 1, tzinfo=timezone.utc)))
    waiter = Waiter(store)
    waiter.looks_again()
    clock.seconds += PATIENT.stale_after - 0.1
    waiter.looks_again()
    assert not waiter.inside.is_set()
    clock.seconds += 0.1
    until(waiter.inside.is_set)
    waiter.leave()


@pytest.mark.parametrize("content", [b"", b"{", b'{"writer-id": 1}', b"\xff\x00", b"[" * 5000])
def test_a_lock_file_that_cannot_be_read_is_waited_for_and_then_taken_over(
    clock: Clock, content: bytes
) -> None:
    store = new_store()
    store.create(KEY, content)
    waiter = Waiter(store)
    waiter.looks_again()
    clock.seconds += PATIENT.stale_after - 0.1
    waiter.looks_again()
    assert not waiter.inside.is_set()
    clock.seconds += 0.1
    until(waiter.inside.is_set)
    waiter.leave()
    assert objects_in(store) == []


def test_of_many_waiters_one_takes_a_stale_lock_over(clock: Clock) -> None:
    store = new_store()
    store.create(KEY, record())
    waiters = [Waiter(store) for _ in range(4)]
    for waiter in waiters:
        waiter.looks_again()
    clock.seconds += PATIENT.stale_after
    until(lambda: any(waiter.inside.is_set() for waiter in waiters))
    for waiter in waiters:
        waiter.looks_again()
    assert sum(waiter.inside.is_set() for waiter in waiters) == 1
    for waiter in waiters:
        waiter.may_leave.set()
    for waiter in waiters:
        waiter.leave()
    assert objects_in(store) == []


def test_giving_up_names_the_holder_and_the_key() -> None:
    store = new_store()
    store.create(KEY, record("host-7-abc"))
    with (
        pytest.raises(LockTimeout, match="held by host-7-abc") as raised,
        lock.held(store, KEY, "me", replace(PATIENT, max_wait=0.1)),
    ):
        pass
    assert f"{store.url}/{KEY}" in str(raised.value)
    assert store.read(KEY).data.count(b"host-7-abc") == 1


def test_giving_up_on_a_lock_that_cannot_be_read_says_so() -> None:
    store = new_store()
    store.create(KEY, b"???")
    with (
        pytest.raises(LockTimeout, match="unreadable lock file"),
        lock.held(store, KEY, "me", replace(PATIENT, max_wait=0.1)),
    ):
        pass


def test_a_lock_that_another_wrote_over_is_not_taken_for_ours(clock: Clock) -> None:
    """Where a store keeps no conditions, two writers may both be told that they made the lock."""
    store = new_store()

    def another_writes() -> None:
        store.replace(KEY, record("other"), store.read(KEY).version)

    waiter = Waiter(BestEffort(Hooked(store, LOCK_CREATE, another_writes)))
    until(lambda: waiter.inside.is_set() or waiter.store.count(LOCK_READ) >= 3)
    assert not waiter.inside.is_set()
    store.delete(KEY)
    until(waiter.inside.is_set)
    waiter.leave()
    assert objects_in(store) == []


def test_release_leaves_anothers_lock_alone() -> None:
    store = new_store()
    with lock.held(store, KEY, "me", PATIENT):
        store.replace(KEY, record("robber"), store.read(KEY).version)
    assert b"robber" in store.read(KEY).data


def test_a_holder_that_lost_its_lock_stops_refreshing_and_says_so(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store = new_store()
    robbers = record("robber")
    with lock.held(store, KEY, "me", replace(PATIENT, refresh_every=0.02)):
        while True:
            try:
                store.replace(KEY, robbers, store.read(KEY).version)
                break
            except Changed:
                continue
        until(lambda: "lost the lock" in caplog.text)
    assert store.read(KEY).data == robbers


def test_a_holder_whose_lock_was_removed_does_not_make_it_again() -> None:
    store = new_store()
    with lock.held(store, KEY, "me", replace(PATIENT, refresh_every=0.02)):
        store.delete(KEY)
        time.sleep(0.1)
        assert objects_in(store) == []
    assert objects_in(store) == []


def test_every_refresh_changes_the_locks_bytes_and_keeps_when_it_was_acquired() -> None:
    store = new_store()
    contents = []
    with lock.held(store, KEY, "me", replace(PATIENT, refresh_every=0.01)):
        deadline = time.monotonic() + 60
        while len(contents) < 5 and time.monotonic() < deadline:
            data = store.read(KEY).data
            if data not in contents:
                contents.append(data)
    records = [lock_record.decode(data, KEY) for data in contents]
    assert len({row.refreshed for row in records}) == 5
    assert len({row.acquired for row in records}) == 1
    assert {row.writer_id for row in records} == {"me"}


def test_the_lock_is_released_when_the_commit_fails() -> None:
    store = new_store()
    with pytest.raises(RuntimeError, match="on purpose"), lock.held(store, KEY, "me", PATIENT):
        raise RuntimeError("on purpose")
    assert objects_in(store) == []


def test_a_waiter_gets_the_lock_when_its_holder_lets_go() -> None:
    store = new_store()
    with lock.held(store, KEY, "first", PATIENT):
        waiter = Waiter(store)
        waiter.looks_again()
        assert not waiter.inside.is_set()
    until(waiter.inside.is_set)
    waiter.leave()


def test_a_waiter_that_finds_the_lock_let_go_takes_it_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whoever commits without a pause is back in a moment: others waited for half a minute."""
    store = new_store()
    theirs = store.create(KEY, record())
    looks: list[float] = []

    def look(patience: Patience) -> bool:
        """Between the first look, which found a holder, and the second."""
        looks.append(patience.longest)
        return True

    class LetGo(Intercepting):
        def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
            if looks and LOCK_READ(method, key) and KEY in objects_in(store):
                with contextlib.suppress(Changed):
                    store.delete_if(KEY, theirs)
            return call()

    monkeypatch.setattr(Patience, "pause", look)
    with lock.held(LetGo(store), KEY, "waiter", PATIENT):
        assert looks == [lock.LOOK_EVERY]


def test_a_commit_names_its_writer_in_the_lock() -> None:
    store = new_store()
    gate = Gate(MANIFEST_REPLACE)
    writer = in_thread(land, Pausing(store, gate), [0])
    gate.wait()
    held = lock_record.decode(store.read(lock_key()).data, "lock")
    gate.open()
    (file,) = writer.result()
    assert held.writer_id == file.writer_id
