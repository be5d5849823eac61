"""The lock is polite, and the commit is what is safe: shown by interleavings driven by hand."""

from __future__ import annotations

import contextlib
import json
import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timezone

import pytest

from singerlake.errors import AlreadyExists, Changed, LockTimeout, NotFound, OutcomeUnknown
from singerlake.format import lock_record
from singerlake.format.lock_record import LockRecord
from singerlake.lake import LockTimes, lock
from singerlake.lake.patience import Patience
from singerlake.store import Store
from tests.lake.faulty_store import (
    LOCK_CREATE,
    LOCK_DELETE,
    LOCK_READ,
    LOCK_REPLACE,
    MANIFEST_REPLACE,
    At,
    Background,
    BestEffort,
    Gate,
    Hooked,
    Intercepting,
    LosingAnswers,
    Lost,
    Pausing,
    Recording,
    Result,
    Unlocked,
    in_thread,
)
from tests.lake.landing import (
    PATIENT,
    QUICK,
    assert_clean,
    assert_once_each,
    land,
    lock_key,
    new_store,
    numbers_in,
    objects_in,
)

KEY = "folder/singerlake.lock"


class NaiveWriter:
    """The plain protocol: write the lock, read it back, then put the manifest, no conditions."""

    def __init__(self, store: Store, name: str, folder: str = "one") -> None:
        self._store, self._name, self._lock = store, name, f"{folder}/singerlake.lock"
        self._manifest: list[str] = []

    def sees_no_lock(self) -> None:
        with pytest.raises(NotFound):
            self._store.read(self._lock)

    def writes_lock(self) -> None:
        self._put(self._lock, self._name)

    def verifies_lock(self) -> None:
        assert self._store.read(self._lock).data.decode() == self._name

    def reads_manifest(self) -> None:
        try:
            self._manifest = json.loads(self._store.read("manifest.json").data)
        except NotFound:
            self._manifest = []

    def puts_manifest(self) -> None:
        self._put("manifest.json", json.dumps([*self._manifest, self._name]))

    def _put(self, key: str, text: str) -> None:
        self._store.delete(key)
        self._store.create(key, text.encode())


def test_a_lock_that_is_written_and_read_back_loses_a_commit() -> None:
    store = new_store()
    a, b = NaiveWriter(store, "a"), NaiveWriter(store, "b")
    a.sees_no_lock()
    b.sees_no_lock()
    a.writes_lock()
    a.verifies_lock()
    b.writes_lock()
    b.verifies_lock()
    a.reads_manifest()
    b.reads_manifest()
    a.puts_manifest()
    b.puts_manifest()
    assert json.loads(store.read("manifest.json").data) == ["b"]  # both succeeded, a is lost


def test_even_a_perfect_lock_in_each_of_two_schema_folders_loses_a_commit() -> None:
    store = new_store()
    a, b = NaiveWriter(store, "a", "one"), NaiveWriter(store, "b", "two")
    for writer in (a, b):
        writer.sees_no_lock()
        writer.writes_lock()
        writer.verifies_lock()
    a.reads_manifest()
    b.reads_manifest()
    a.puts_manifest()
    b.puts_manifest()
    assert json.loads(store.read("manifest.json").data) == ["b"]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_ours_keeps_both_commits_where_both_writers_hold_the_lock(order: str) -> None:
    store = new_store()
    land(store, [0])
    gates = {name: Gate(MANIFEST_REPLACE) for name in "ab"}
    writers = {
        name: in_thread(land, Unlocked(Pausing(store, gates[name])), [number])
        for name, number in (("a", 1), ("b", 2))
    }
    for gate in gates.values():
        gate.wait()  # both have the lock, the same manifest, and an uploaded file
    for name in order:
        gates[name].open()
        writers[name].result()
    assert_once_each(store, 3)
    assert_clean(store)


def test_ours_keeps_both_commits_in_two_schema_folders() -> None:
    store = new_store()
    land(store, [0])
    gates = [Gate(MANIFEST_REPLACE), Gate(MANIFEST_REPLACE)]
    writers = [
        in_thread(land, Pausing(store, gate), [number], version=number)
        for number, gate in enumerate(gates, start=1)
    ]
    for gate in gates:
        gate.wait()
    assert len(objects_in(store, "singerlake.lock")) == 2
    for gate, writer in zip(gates, writers, strict=True):
        gate.open()
        writer.result()
    assert_once_each(store, 3)
    assert_clean(store)


def test_ours_lets_one_of_two_writers_in_where_both_saw_no_lock() -> None:
    """The interleaving that fools the plain lock: both are about to write it at once."""
    store = new_store()
    land(store, [0])
    gates = [Gate(LOCK_CREATE), Gate(LOCK_CREATE)]
    inside = Gate(MANIFEST_REPLACE)
    first = in_thread(land, Pausing(store, gates[0], inside), [1])
    recording = Recording(Pausing(store, gates[1]))
    second = in_thread(land, recording, [2])
    for gate in gates:
        gate.wait()
    gates[0].open()
    inside.wait()
    gates[1].open()
    until(lambda: recording.count(LOCK_READ) >= 3)
    assert recording.count(At("create", ".singer.gz")) == 0  # it waits, and wastes no upload
    inside.open()
    first.result()
    second.result()
    assert_once_each(store, 3)
    assert_clean(store)


def test_ours_keeps_the_commit_of_a_writer_whose_lock_was_taken_over() -> None:
    store = new_store()
    land(store, [0])
    gate = Gate(MANIFEST_REPLACE)
    sleeper = in_thread(land, Pausing(store, gate), [1])
    gate.wait()
    land(store, [2], times=QUICK)
    gate.open()
    sleeper.result()
    assert numbers_in(store) == [0, 2, 1]
    assert objects_in(store, "singerlake.lock") == []
    assert_clean(store)


class Clock:
    """The waiter's own clock, which moves when the test says so."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def monotonic(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        time.sleep(min(seconds, 0.01))


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lock, "time", clock)
    monkeypatch.setattr(lock, "LOOK_EVERY", 0.01)
    return clock


class Waiter:
    """Someone who wants a lock, in a thread of its own."""

    def __init__(self, store: Store, times: LockTimes = PATIENT) -> None:
        self.store = Recording(store)
        self._times = times
        self.may_leave = threading.Event()
        self.inside = threading.Event()
        self._thread: Background = in_thread(self._run)

    def _run(self) -> None:
        with lock.held(self.store, KEY, "waiter", self._times):
            self.inside.set()
            assert self.may_leave.wait(60)

    def looks_again(self) -> None:
        """Return when it has looked at the lock twice more, from beginning to end."""
        seen = self.store.count(LOCK_READ)
        until(lambda: self.inside.is_set() or self.store.count(LOCK_READ) >= seen + 2)

    def leave(self) -> None:
        self.may_leave.set()
        self._thread.result()


def record(writer: str = "other", moment: datetime | None = None) -> bytes:
    moment = moment or datetime.now(timezone.utc)
    return lock_record.encode(LockRecord(writer, moment, moment))


def refresh(store: Store) -> None:
    store.replace(KEY, record(), store.read(KEY).version)


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
def test_a_lost_answer_to_a_take_over_is_found_by_reading_it_back(
    answer: type[Exception],
) -> None:
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


def until(condition: Callable[[], bool], seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.002)
