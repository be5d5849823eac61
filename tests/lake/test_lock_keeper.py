"""What refreshes the locks that a process holds, of which one that cannot be delays no other."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest

from singerlake.lake import lock
from singerlake.store import Store
from singerlake.store.per_process import PerProcess
from tests.lake.faulty_store import LOCK_REPLACE, Gate, Intercepting, Pausing, Result
from tests.lake.landing import PATIENT, new_store, objects_in
from tests.lake.locking import KEY, until

OFTEN = replace(PATIENT, refresh_every=0.02)


def is_refreshed(store: Store) -> None:
    """The lock at `KEY`: it waits until it is."""
    first = store.read(KEY).data
    until(lambda: store.read(KEY).data != first, seconds=20)


@pytest.fixture(autouse=True)
def _rounds_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test finds a thread that another has left waiting."""
    monkeypatch.setattr(lock, "_rounds", PerProcess(lock._Rounds))


def lock_threads() -> set[threading.Thread]:
    return {one for one in threading.enumerate() if one.name == "singerlake-locks"}


def test_one_thread_waits_for_all_locks_of_a_process() -> None:
    store = new_store()
    keys = [f"{KEY}-{number}" for number in range(5)]
    others = lock_threads()
    with contextlib.ExitStack() as held:
        for key in keys:
            held.enter_context(lock.held(store, key, "me", OFTEN))
        first = {key: store.read(key).data for key in keys}
        until(lambda: all(store.read(key).data != first[key] for key in keys))
        assert len(lock_threads() - others) == 1
    assert objects_in(store) == []
    until(lambda: not lock_threads() - others)
    assert objects_in(store) == []


def test_a_lock_that_is_due_before_the_others_is_refreshed_before_them() -> None:
    store = new_store()
    with (
        lock.held(store, KEY, "me", PATIENT),
        lock.held(store, f"{KEY}-2", "me", OFTEN),
    ):
        first = store.read(f"{KEY}-2").data
        until(lambda: store.read(f"{KEY}-2").data != first)


def test_a_lock_that_is_let_go_is_never_refreshed_again() -> None:
    """Also where its turn has come already."""
    store = new_store()
    keeper = lock._Keeper(store, KEY, lock._acquire(store, KEY, "me", PATIENT), 60)
    keeper.start()
    keeper.release()
    assert not keeper.refresh()
    assert objects_in(store) == []


class Odd(Intercepting):
    """A store that refuses a refresh with an error which nobody has mapped to one of ours."""

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if LOCK_REPLACE(method, key):
            raise ValueError("an error of its own")
        return call()


def test_an_error_that_nobody_expects_ends_the_refreshes_of_that_lock_alone(
    caplog: pytest.LogCaptureFixture,
) -> None:
    odd, store = new_store(), new_store()
    with lock.held(Odd(odd), KEY, "me", OFTEN), lock.held(store, KEY, "me", OFTEN):
        until(lambda: "an error of its own" in caplog.text, seconds=20)
        is_refreshed(store)
        is_refreshed(store)
    assert caplog.text.count("it will turn stale") == 1
    assert objects_in(odd) == objects_in(store) == []


def test_a_refresh_that_hangs_delays_no_other_lock() -> None:
    slow, store, gate = new_store(), new_store(), Gate(LOCK_REPLACE)
    with lock.held(Pausing(slow, gate), KEY, "me", OFTEN):
        gate.wait()
        try:
            with lock.held(store, KEY, "me", OFTEN):
                is_refreshed(store)
                is_refreshed(store)
        finally:
            gate.open()
        is_refreshed(slow)
    assert objects_in(slow) == objects_in(store) == []


def test_one_refresh_of_a_lock_is_under_way_at_a_time() -> None:
    store, gate = new_store(), Gate(LOCK_REPLACE)
    keeper = lock._Keeper(Pausing(store, gate), KEY, lock._acquire(store, KEY, "me", PATIENT), 0.02)
    keeper.start()
    gate.wait()
    before = store.read(KEY).data
    assert keeper.refresh()
    assert store.read(KEY).data == before
    gate.open()
    keeper.release()
    assert objects_in(store) == []


def no_thread(monkeypatch: pytest.MonkeyPatch, name: str) -> Callable[[], bool]:
    """The first thread of this name cannot be started; the answer tells whether it was tried."""
    start, refused = threading.Thread.start, threading.Event()

    def refuse(thread: threading.Thread) -> None:
        if thread.name == name and not refused.is_set():
            refused.set()
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    return refused.is_set


def test_a_refresh_that_gets_no_thread_comes_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = new_store()
    was_refused = no_thread(monkeypatch, "singerlake-refresh")
    with lock.held(store, KEY, "me", OFTEN):
        is_refreshed(store)
    assert was_refused()
    assert "refreshed later" in caplog.text


def test_a_lock_that_gets_no_thread_is_let_go_and_the_next_one_is_refreshed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = new_store()
    no_thread(monkeypatch, "singerlake-locks")
    with pytest.raises(RuntimeError, match="new thread"), lock.held(store, KEY, "me", OFTEN):
        pass
    assert objects_in(store) == []
    with lock.held(store, KEY, "me", OFTEN):
        is_refreshed(store)
