"""The tools of these suites, by small examples: death, late writes, a lock's keeper."""

from __future__ import annotations

import contextlib

import pytest

from singerlake.errors import OutcomeUnknown
from singerlake.lake import lock
from tests.faults.fault import Fault
from tests.faults.process import TICK, Machine, Process
from tests.faults.truth import Shelf, Truth, Violation
from tests.faults.work import TIMES
from tests.faults.world import deterministic
from tests.lake.faulty_store import Crashing, Died
from tests.lake.landing import new_store, objects_in

KEY = "folder/singerlake.lock"


def test_a_dead_store_answers_nobody() -> None:
    """After its death no clean-up can run, from no thread."""
    store = new_store()
    crashing = Crashing(store, 2, after=True)
    crashing.create("a", b"a")
    with pytest.raises(Died):
        crashing.create("b", b"b")
    with pytest.raises(Died):
        crashing.delete("a")
    assert objects_in(store) == ["a", "b"]


@pytest.mark.parametrize(
    ("fault", "there"), [(Fault.DIES_BEFORE, ["a"]), (Fault.DIES_AFTER, ["a", "b"])]
)
def test_a_process_that_died_cleans_nothing_up(fault: Fault, there: list[str]) -> None:
    store = Shelf("processes")
    store.clear()

    def body(process: Process) -> None:
        process.store.create("a", b"a")
        try:
            process.store.create("b", b"b")
        finally:
            process.store.delete("a")

    with deterministic() as world:
        machine = Machine(world, store)
        process = machine.start("one", body)
        machine.go(machine.ready()[0])
        machine.go(machine.ready()[0], fault)
        assert process.over
        assert process.dead
        assert machine.ready() == []
    assert objects_in(store) == there


def test_a_write_that_hangs_arrives_later_or_never() -> None:
    store = Shelf("processes")
    store.clear()

    def body(process: Process) -> None:
        with contextlib.suppress(OutcomeUnknown):
            process.store.create("a", b"a")

    with deterministic() as world:
        machine = Machine(world, store)
        machine.start("one", body)
        machine.go(machine.ready()[0], Fault.HANGS)
        assert objects_in(store) == []
        machine.arrive(0)
    assert objects_in(store) == ["a"]


def test_a_held_lock_is_refreshed_when_the_schedule_says_so() -> None:
    store = Shelf("processes")
    store.clear()

    def body(process: Process) -> None:
        with lock.held(process.store, KEY, "me", TIMES):
            process.store.create("work", b"")

    with deterministic() as world:
        machine = Machine(world, store, ticks=1)
        process = machine.start("one", body)
        holder, *_ = machine.ready()
        machine.go(holder)
        machine.go(holder)
        first = store.read(KEY).data
        (_, keeper) = machine.ready()
        assert keeper.point is not None
        assert keeper.point.method == TICK
        machine.go(keeper)
        machine.go(keeper)
        assert store.read(KEY).data != first
        while ready := machine.ready():
            machine.go(ready[0])
        assert process.error is None
    assert objects_in(store) == ["work"]


def test_the_truth_tells_what_is_lost_and_what_is_there_twice() -> None:
    truth = Truth()
    truth.send([1, 2])
    truth.acknowledge([1])
    assert truth.require([1]) == 0
    with pytest.raises(Violation, match="LOST"):
        truth.require([2])
    with pytest.raises(Violation, match="TWICE"):
        truth.require([1, 1])
    truth.send([2])
    assert truth.require([1, 2, 2]) == 1
