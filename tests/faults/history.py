"""Random histories of a lake, beside a simple reference in memory.

The reference is a list of commits, each a list of numbers. Whatever happens to the lake, a reader
must see exactly these, in this order. No number is ever sent twice, so none may be there twice.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any, ClassVar
from unittest import mock

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from singerlake.errors import (
    DamageError,
    SingerlakeError,
    StaleBookmark,
    StaleSnapshot,
)
from singerlake.format import manifest as manifests
from singerlake.lake import (
    Bookmark,
    Lake,
    Selection,
    Snapshot,
    Writer,
    check,
    inventory,
    log,
    open_on,
    rebuild,
    retired,
    source,
)
from singerlake.lake.feed import position
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from tests.faults.fault import EVERY, Fault
from tests.faults.process import STATE, Late, Machine
from tests.faults.reference import Clocks, Held, Reference, record_at, require_same
from tests.faults.truth import Shelf, Truth, Violation, visible
from tests.faults.work import TIMES, Work, fixing, purging, rebuilding, vacuuming, writing
from tests.faults.world import deterministic, in_order
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    codes,
    options,
    record_line,
    schema_line,
)

NOW = timedelta(0)
SIZES = st.sampled_from([500, 700, 1_000, 100_000])
FAULTS = st.sampled_from(EVERY)
REQUESTS = st.integers(1, 25)
LEFTOVERS = {"orphan-file", "orphan-segment", "orphan-merge", "stale-lock"}

MOST_AT_ONCE = 3

_names = itertools.count()


class History(RuleBasedStateMachine):
    """Writers, readers, vacuums, purges, rebuilds, checks and fixes, with and without faults."""

    patched: ClassVar[dict[str, list[str]]] = {}
    """More modules that get the world's time and identifiers."""
    waiting: ClassVar[set[str]] = set()
    """More that a check may find, and a fix leaves alone."""

    def __init__(self) -> None:
        super().__init__()
        self._world = contextlib.ExitStack()
        self.world = self._world.enter_context(deterministic(**self.patched))
        self._world.enter_context(mock.patch.object(manifests, "FAN_OUT", 2))
        self.store = Shelf(f"history-{next(_names)}")
        self.lake = open_on(self.store, create=True)
        self.reference = Reference()
        self.writers: list[tuple[Writer, list[int]]] = []
        self.held: list[Held] = []
        self.bookmarks: list[tuple[Bookmark, int]] = []
        self.late: list[Late] = []
        self.log_id = ""
        self.next = self.lives = 0
        self.counted: dict[str, int] = {"faults": 0, "adopted": 0}
        self._commit(self._new(1), self._writer())

    def teardown(self) -> None:
        self.store.clear()
        self._world.close()

    # Writers

    def _writer(self) -> Writer:
        return self.lake.writer(TAP, options=options(TIMES, uploads=1))

    def _new(self, count: int) -> list[int]:
        self.next += count
        return list(range(self.next - count, self.next))

    def _commit(self, numbers: list[int], writer: Writer) -> None:
        writer.write(schema_line())
        for number in numbers:
            writer.write(record_line(number))
        writer.commit()
        self._acknowledge(numbers)

    def _acknowledge(self, numbers: list[int]) -> None:
        self.reference.sent -= set(numbers)
        if numbers:
            self.reference.commits.append(numbers)
        self.log_id = self._manifest().log_id

    @precondition(lambda self: len(self.writers) < 3)
    @rule(version=st.integers(1, 2))
    def open_a_writer(self, version: int) -> None:
        writer = self._writer()
        writer.write(schema_line(version=version))
        self.writers.append((writer, []))

    @precondition(lambda self: self.writers)
    @rule(which=st.integers(0, 2), count=st.integers(1, 3), moment=st.sampled_from([None, 0, 1]))
    def write(self, which: int, count: int, moment: int | None) -> None:
        """Of a few records the times are those of others: so are the times in the files' names."""
        writer, pending = self.writers[which % len(self.writers)]
        for number in self._new(count):
            writer.write(record_at(number, number if moment is None else moment))
            pending.append(number)
            self.reference.sent.add(number)

    @precondition(lambda self: self.writers)
    @rule(which=st.integers(0, 2))
    def commit(self, which: int) -> None:
        writer, pending = self.writers[which % len(self.writers)]
        writer.commit()
        self._acknowledge(list(pending))
        pending.clear()

    @precondition(lambda self: self.writers)
    @rule(which=st.integers(0, 2))
    def leave(self, which: int) -> None:
        """A writer ends without a commit: what it held was not acknowledged, and is nowhere."""
        writer, pending = self.writers.pop(which % len(self.writers))
        writer.close()
        self.reference.sent -= set(pending)

    # Faults

    @rule(
        fault=FAULTS,
        at=st.integers(4, 10),
        batches=st.lists(st.integers(1, 2), min_size=1, max_size=2),
    )
    def write_with_a_fault(self, fault: Fault, at: int, batches: list[int]) -> None:
        wanted = [self._new(count) for count in batches]
        self.reference.sent.update(itertools.chain(*wanted))
        self._strike(writing(*wanted), fault, at)

    @rule(fault=FAULTS, at=REQUESTS, size=SIZES)
    def vacuum_with_a_fault(self, fault: Fault, at: int, size: int) -> None:
        self._strike(vacuuming(VacuumOptions(target_bytes=size, lock=TIMES)), fault, at)

    @rule(fault=FAULTS, at=REQUESTS, work=st.sampled_from([rebuilding(), fixing(), purging(NOW)]))
    def mend_with_a_fault(self, fault: Fault, at: int, work: Work) -> None:
        self._strike(work, fault, at)
        self._removed()

    def _machine(self) -> Machine:
        self.lives += MOST_AT_ONCE
        return Machine(self.world, self.store, lives=self.lives - MOST_AT_ONCE)

    def _strike(self, work: Work, fault: Fault, at: int) -> None:
        """Run a process with one fault; then see what came of it, which must be all or nothing."""
        machine, truth = self._machine(), Truth()
        process = machine.start("struck", work(truth))
        while ready := machine.ready():
            point = ready[0].point
            strikes = len(process.requests) == at - 1 and point is not None
            if strikes and point is not None:
                strikes = fault.strikes(point.method) and point.method != STATE
            self.counted["faults"] += strikes
            machine.go(ready[0], fault if strikes else Fault.NONE)
        if process.error is not None and not process.dead and not process.failed:
            raise Violation(f"BROKE {process.error!r}")
        self.late += machine.late
        there = visible(self.store)
        if lost := truth.acknowledged - set(there):
            raise Violation(f"LOST {lost}: acknowledged, and not there")
        self._follow(there)

    @precondition(lambda self: self.late)
    @rule()
    def a_late_write_arrives(self) -> None:
        with contextlib.suppress(SingerlakeError):
            self.late.pop(0).arrive()
        self._follow(visible(self.store))

    def _follow(self, there: list[int]) -> None:
        """Take over what was committed behind what is known: only what somebody sent."""
        known = self.reference.numbers
        require_same(there[: len(known)], known)
        added = there[len(known) :]
        if unknown := set(added) - self.reference.sent:
            raise Violation(f"TWICE {unknown}: nobody has sent them since")
        # A merged file that is adopted bears as many numbers as it has parts.
        for sequence in range(self._sequence() + 1, self._manifest().last_sequence + 1):
            snapshot = Snapshot(self.store, KEYS, self._manifest())
            wanted = Selection(since=sequence - 1, until=sequence)
            numbers = [record["id"] for record in snapshot.records(wanted)]
            if numbers and numbers[0] in added:
                self.reference.commits.append(numbers)
                self.counted["adopted"] += 1
        assert self.reference.numbers == there
        self.reference.sent -= set(added)

    def _sequence(self) -> int:
        return len(self.reference.commits)

    def _manifest(self) -> manifests.Manifest:
        return log.read_head(self.store, KEYS).manifest

    # Readers

    @rule()
    def take_a_snapshot(self) -> None:
        snapshot = self._stream().snapshot()
        self.held.append(Held(snapshot, list(self.reference.numbers), self._clocks()))

    def _clocks(self) -> Clocks:
        return self.world.shift, self.store.shift

    @precondition(lambda self: self.held)
    @rule(which=st.integers(0, 9))
    def read_a_held_snapshot(self, which: int) -> None:
        held = self.held[which % len(self.held)]
        try:
            require_same([record["id"] for record in held.snapshot.records()], held.numbers)
        except (DamageError, StaleSnapshot) as error:
            if held.safe:
                raise Violation(f"UNREADABLE a snapshot in its grace: {error}") from error

    @rule()
    def bookmark(self) -> None:
        self.bookmarks.append((Bookmark(self.log_id, self._sequence()), self._sequence()))

    @precondition(lambda self: self.bookmarks)
    @rule(which=st.integers(0, 9))
    def read_since_a_bookmark(self, which: int) -> None:
        place, commits = self.bookmarks[which % len(self.bookmarks)]
        snapshot = self._stream().snapshot()
        try:
            position.require(snapshot, place)
        except StaleBookmark:
            assert place.log_id != self.log_id
            return
        there = [record["id"] for record in snapshot.records(Selection(since=place.sequence))]
        later = self.reference.commits[commits:]
        require_same(there, [number for commit in later for number in commit])

    def _stream(self) -> Any:
        return Lake(self.store).stream(TAP, STREAM)

    # Looking after

    @rule(size=SIZES)
    def vacuum(self, size: int) -> None:
        vacuum(self.store, KEYS, VacuumOptions(target_bytes=size, lock=TIMES), run=in_order)

    @precondition(lambda self: not self.late)
    @rule()
    def purge(self) -> None:
        """Not while a vacuum's put may still arrive: what it merged is what a purge takes."""
        purge(self.store, KEYS, NOW, abandoned=NOW)
        self._removed()

    @rule()
    def rebuild(self) -> None:
        self._adopting(lambda: rebuild(self.store))
        self._removed()

    @rule()
    def fix(self) -> None:
        self._adopting(lambda: check(self.store, fix=True, times=TIMES))
        report = check(self.store, times=TIMES)
        assert set(codes(report)) <= {"orphan-merge"} | self.waiting, report.findings

    def _adopting(self, work: Callable[[], object]) -> None:
        orphans = self._orphans()
        work()
        self._follow(visible(self.store))
        assert set(orphans) <= set(self.reference.numbers), "not all orphans were adopted"

    def _orphans(self) -> list[int]:
        """The numbers in files that no manifest names: of commits that were interrupted."""
        found = inventory.take(self.store, TAP, STREAM).streams[KEYS]
        rows = list(log.files(self.store, KEYS, self._manifest()))
        gone = retired.find(self.store, found, rows)
        named = {row.path for row in rows} | gone.replaced | gone.uncommitted
        orphans = [file for path, file in found.files.items() if path not in named]
        return [
            int(line.partition(b'"id": ')[2].partition(b"}")[0])
            for file in orphans
            for block in source.blocks(self.store, KEYS.under(file.path), file.name)
            for line in block.splitlines()
            if b'"RECORD"' in line
        ]

    def _begin_anew(self) -> None:
        """Take over what is there: nothing that was known of numbers counts any more."""
        there = visible(self.store)
        self.reference.sent -= set(there)
        manifest = self._manifest()
        snapshot = Snapshot(self.store, KEYS, manifest)
        self.reference.commits = []
        for sequence in range(1, manifest.last_sequence + 1):
            wanted = Selection(since=sequence - 1, until=sequence)
            self.reference.commits.append([row["id"] for row in snapshot.records(wanted)])
        require_same(self.reference.numbers, there)
        self.log_id = manifest.log_id
        self.bookmarks.clear()
        self._removed()

    def _removed(self) -> None:
        for held in self.held:
            held.safe = False

    @rule()
    def check(self) -> None:
        report = check(self.store, times=TIMES)
        assert set(codes(report)) <= LEFTOVERS | self.waiting, report.findings

    @invariant()
    def readers_see_the_reference(self) -> None:
        require_same(visible(self.store), self.reference.numbers)
        assert self._manifest().last_sequence == self._sequence()
