"""Random histories of a lake that meets what operators and machines do to lakes.

It is moved, its clocks are set, that of the store apart from those of the machines, its manifest is
lost or an older one is put back, and several look after it at once. Whoever follows it gets every
record once, or an error.
"""

from __future__ import annotations

import contextlib
import random
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from singerlake.errors import Unavailable
from singerlake.lake import check, log, merge, rebuild
from singerlake.lake.purging import AHEAD, GRACE, purge
from tests.faults.fault import EVERY, Fault
from tests.faults.history import FAULTS, MOST_AT_ONCE, NOW, History
from tests.faults.process import STATE, Process
from tests.faults.reader import Reader
from tests.faults.reference import DyingPurge, record_at, require_same
from tests.faults.truth import Truth, Violation, visible
from tests.faults.work import SMALL, TIMES, Work, fixing, purging, rebuilding, vacuuming, writing
from tests.lake.landing import KEYS, schema_line

MOST = timedelta(days=60)
"""How far the clocks are set."""

HOURS = [-720, -200, -24, -5, 5, 24, 200, 720]
LONGEST = 2_000
"""Turns of several processes: more would mean that they keep each other from an end."""

STEPS = st.lists(
    st.sampled_from(["commit", "vacuum", "purge", "half a purge", "give up"]),
    min_size=3,
    max_size=8,
)
KEEPING: dict[str, Work] = {
    "vacuum": vacuuming(SMALL),
    "purge": purging(),
    "rebuild": rebuilding(),
    "fix": fixing(),
}
AT_ONCE = st.lists(st.sampled_from(["write", *KEEPING]), min_size=2, max_size=MOST_AT_ONCE)


class Misfortune(History):
    """The same lake, and all that happens to it besides."""

    def __init__(self) -> None:
        super().__init__()
        self.readers = [Reader(), Reader()]

    # Who follows

    @rule(which=st.integers(0, 1))
    def follow(self, which: int) -> None:
        self.readers[which].follow(self._stream(), visible(self.store))

    # Clocks and copies

    @precondition(lambda self: not self.late)
    @rule()
    def move_the_lake(self) -> None:
        """All that lies there is copied, and gets other times."""
        self.store.move()

    @rule(hours=st.sampled_from(HOURS))
    def set_the_clocks(self, hours: int) -> None:
        """Those of the machines."""
        self._set(hours, 0)

    @rule(hours=st.sampled_from(HOURS))
    def set_the_clock_of_the_store(self, hours: int) -> None:
        self._set(0, hours)

    @rule(hours=st.sampled_from(HOURS))
    def let_time_pass(self, hours: int) -> None:
        self._set(abs(hours), abs(hours))

    def _set(self, machines: int, store: int) -> None:
        before = min(self._clocks())
        self.world.shift = _within(self.world.shift + timedelta(hours=machines))
        self.store.shift = _within(self.store.shift + timedelta(hours=store))
        if min(self._clocks()) > before:
            self.late.clear()  # by either clock this is long ago: it never arrives
        for held in self.held:
            held.earliest = (
                min(held.earliest[0], self.world.shift),
                min(held.earliest[1], self.store.shift),
            )

    @rule()
    def purge_by_default(self) -> None:
        """Also while a put may still arrive: a snapshot that is young by either clock is safe."""
        purge(self.store, KEYS)
        for held in self.held:
            held.safe = held.safe and held.is_younger_than(GRACE - AHEAD, self._clocks())

    @rule(hours=st.sampled_from(HOURS), of_the_store=st.booleans())
    def purge_by_a_wrong_clock(self, hours: int, of_the_store: bool) -> None:
        """What a reader needs that has just begun is replaced, and one clock is set."""
        self.take_a_snapshot()
        self.vacuum(100_000)
        self._set(*((0, hours) if of_the_store else (hours, 0)))
        self.purge_by_default()
        self.read_a_held_snapshot(len(self.held) - 1)

    # Several at once

    @rule(
        names=AT_ONCE,
        seed=st.integers(0, 2**16),
        fault=st.just(Fault.NONE) | FAULTS,
        at=st.integers(1, 25),
        hours=st.sampled_from([0, 0, *HOURS]),
        of_the_store=st.booleans(),
    )
    def several_at_once(
        self, names: list[str], seed: int, fault: Fault, at: int, hours: int, of_the_store: bool
    ) -> None:
        """In any order of their requests, with one fault in the first, and one clock that is set
        meanwhile."""
        truth, machine = Truth(), self._machine()
        for number, name in enumerate(names):
            machine.start(f"{number} {name}", self._work(name)(truth))
        chance, struck = random.Random(seed), machine.processes[0]
        for turn in range(LONGEST):
            if not (ready := machine.ready()):
                break
            thread = chance.choice(ready)
            strikes = thread.process is struck and len(struck.requests) == at - 1
            if strikes and thread.point is not None:
                strikes = fault.strikes(thread.point.method) and thread.point.method != STATE
            strikes = strikes and fault in EVERY
            self.counted["faults"] += strikes
            machine.go(thread, fault if strikes else Fault.NONE)
            if turn == at + 10:
                self._set(*((0, hours) if of_the_store else (hours, 0)))
        else:
            raise Violation(f"STUCK {names} after {LONGEST} turns")
        for process in machine.processes:
            _require_said(process)
        self.late += machine.late
        there = visible(self.store)
        if lost := truth.acknowledged - set(there):
            raise Violation(f"LOST {lost}: acknowledged, and not there")
        self._follow(there)
        self._removed()

    def _work(self, name: str) -> Work:
        if name != "write":
            return KEEPING[name]
        numbers = self._new(1)
        self.reference.sent.update(numbers)
        return writing(numbers)

    @rule()
    def a_fresh_commit_succeeds(self) -> None:
        """Whatever was before: nobody fails any more."""
        numbers, writer = self._new(1), self._writer()
        self._commit(numbers, writer)
        writer.close()

    # Manifests that are lost, or older

    @precondition(lambda self: not self.late)
    @rule(
        steps=st.just([]) | STEPS,
        moved=st.booleans(),
        beside=st.booleans(),
        seed=st.integers(0, 99),
    )
    def lose_the_manifest_and_rebuild(
        self, steps: list[str], moved: bool, beside: bool, seed: int
    ) -> None:
        """The order is made from the files: all is there, once."""
        if not self.writers:
            self._take(steps)
        if moved:
            self.store.move()
        wanted = sorted([*self.reference.numbers, *self._orphans()])
        self.store.delete(KEYS.manifest)
        if beside:
            self._rebuild_beside_a_vacuum(seed)
        else:
            rebuild(self.store)
        require_same(sorted(visible(self.store)), wanted)
        bookmarks = list(self.bookmarks)
        self._begin_anew()
        self.bookmarks = bookmarks  # of another log: refused

    def _rebuild_beside_a_vacuum(self, seed: int) -> None:
        machine, chance = self._machine(), random.Random(seed)
        for name in ("rebuild", "vacuum", "purge"):
            machine.start(name, KEEPING[name](Truth()))
        while ready := machine.ready():
            machine.go(chance.choice(ready))
        for process in machine.processes:
            _require_said(process)
        rebuild(self.store)  # the first may have ended before a vacuum's commit, with an error

    @precondition(lambda self: not self.late and not self.writers)
    @rule(steps=STEPS, since=st.integers(0, 2), fix_first=st.booleans())
    def put_an_older_manifest_back(self, steps: list[str], since: int, fix_first: bool) -> None:
        """Whatever was committed, merged and purged since, and whatever is committed until somebody
        notices: all is there, once."""
        older = self.store.read(KEYS.manifest).data
        self._take(steps)
        wanted = [*self.reference.numbers, *self._orphans()]
        self.store.delete(KEYS.manifest)
        self.store.create(KEYS.manifest, older)
        for _ in range(since):
            wanted += self._commit_at_one_time()
        if fix_first:
            check(self.store, fix=True, times=TIMES)
        rebuild(self.store)
        require_same(sorted(visible(self.store)), sorted(wanted))
        self._begin_anew()

    def _take(self, steps: list[str]) -> None:
        """Some work in a row, by which lakes came to harm."""
        for step in steps:
            if step == "commit":
                self._commit_at_one_time()
            elif step == "give up":
                self._give_up()
            elif step == "vacuum":
                self.vacuum(100_000)
            else:
                dying = DyingPurge(self.store, 2 if step == "half a purge" else 1_000)
                with contextlib.suppress(Unavailable):
                    purge(dying, KEYS, NOW)
        self._removed()

    def _commit_at_one_time(self) -> list[int]:
        writer = self._writer()
        writer.write(schema_line())
        numbers = self._new(1)
        writer.write(record_at(numbers[0], 0))
        writer.commit()
        writer.close()
        self._acknowledge(numbers)
        return numbers

    def _give_up(self) -> None:
        """A vacuum that ends before its commit, of the newest files."""
        *_, first, second = [None, None, *log.files(self.store, KEYS, self._manifest())]
        if not first or not second or first.schema_hash != second.schema_hash:
            return
        if first.sequence + 1 == second.lowest_sequence:  # no gap between, or no vacuum takes them
            merge.merge_files(self.store, KEYS, [first, second], 1, f"writer-{self.next}")


def _within(shift: timedelta) -> timedelta:
    return max(min(shift, MOST), -MOST)


def _require_said(process: Process) -> None:
    """It came to its end, or to an error that the product tells its user."""
    if process.error is not None and not process.dead and not process.failed:
        raise Violation(f"BROKE {process.error!r}") from process.error
