"""One fault at one request of one process, beside another process, in a schedule from a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta

from singerlake.errors import NotFound
from singerlake.format.manifest import Manifest
from singerlake.lake import CheckReport, Level, Snapshot, check, commit, log, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from tests.faults.fault import DEATHS, Fault
from tests.faults.ground import OTHER_KEYS
from tests.faults.life import World
from tests.faults.process import STATE, Machine, Process
from tests.faults.truth import Shelf, Truth, Violation, visible
from tests.faults.work import ALL, OF_OTHER, OTHER, TIMES, Work
from tests.faults.world import in_order
from tests.lake.landing import KEYS, STREAM, codes, land

LEFTOVERS = {"orphan-file", "orphan-segment", "orphan-merge", "orphan-upload", "stale-lock"}
LONGEST = 2000
NOW = timedelta(0)
NEXT = 1000
"""The numbers that the next writer lands."""


@dataclass(frozen=True)
class Setting:
    """Work that a fault strikes, what goes on beside it, and where.

    `unsettled`: metadata is missing before the work, so only its end is held against the check.
    """

    ground: Callable[[Store, Truth], None]
    work: Work
    beside: Work | None = None
    fan_out: int = 2
    purges: bool = False
    unsettled: bool = False
    also: Callable[[Shelf, Truth], object] = lambda store, truth: None
    """What has to hold besides, at the end, and whenever a process has died or failed."""

    afterwards: Callable[[Shelf, Truth], object] = lambda store, truth: None


@dataclass
class Outcome:
    """What a run saw: whether the fault struck, and how many records are there twice."""

    struck: bool = False
    replays: int = 0
    requests: int = 0


@dataclass
class Ground:
    """A setting's lake, made once, to be copied for every run."""

    setting: Setting
    store: Shelf = field(default_factory=lambda: Shelf("crash-ground"))
    truth: Truth = field(default_factory=Truth)

    def __post_init__(self) -> None:
        self.store.clear()
        self.setting.ground(self.store, self.truth)


def strike(
    world: World,
    ground: Ground,
    fault: Fault,
    at: int,
    seed: int,
    kind: type[Shelf] = Shelf,
) -> Outcome:
    """Run the setting; its process meets the fault at its request `at`. Raises `Violation`."""
    setting, chance = ground.setting, random.Random(f"{seed} {at} {fault}")
    store = Shelf("crash-point")
    store.fill(ground.store)
    truth = ground.truth.copy()
    before = Snapshot(store, KEYS, _manifest(store))
    held = list(before.records())
    machine = Machine(world, kind(store._name), ticks=2)
    outcome = Outcome()
    world.backwards = seed % 2 == 0
    try:
        for moment in _schedule(machine, setting, truth, fault, at, seed, chance, outcome):
            _look(store, truth, setting, dead=moment.dead)
    finally:
        machine.end()
        world.backwards = False
    outcome.replays = _look(store, truth, setting)
    if not setting.purges and list(before.records()) != held:
        raise Violation("TORN: a snapshot that was held reads otherwise")
    if not setting.unsettled and visible(store)[: len(held)] != [each["id"] for each in held]:
        raise Violation("LOST: what was there before is not where it was")
    _afterwards(store, truth)
    setting.afterwards(store, truth)
    return outcome


def _schedule(
    machine: Machine,
    setting: Setting,
    truth: Truth,
    fault: Fault,
    at: int,
    seed: int,
    chance: random.Random,
    outcome: Outcome,
) -> Iterator[Process]:
    """Let everything come to its end; yields each process that died or failed."""
    # Until the fault the schedule is that of the seed alone, so that each request has its turn.
    order = random.Random(seed)
    struck = machine.start("struck", setting.work(truth))
    works = {struck: setting.work}
    if setting.beside is not None:
        works[machine.start("beside", setting.beside(truth))] = setting.beside
    reported: set[Process] = set()
    for _ in range(LONGEST):
        for process in [each for each in works if each.over and each not in reported]:
            reported.add(process)
            if process.error is None:
                continue
            if not (process.dead or process.failed):
                raise Violation(f"BROKE {process.error!r}") from process.error
            yield process
            if len(works) > 40:
                raise Violation(f"STUCK: it fails again and again: {process.error}")
            again = machine.start(f"again {len(works)}", works[process](truth))
            works[again] = works[process]
        ready = machine.ready()
        if machine.late and chance.random() < 0.1:
            machine.arrive(0)
        if not ready:
            if all(process.over and process in reported for process in works):
                break
            continue
        thread = order.choice(ready)
        strikes = thread.process is struck and len(struck.requests) == at - 1
        if strikes and thread.point is not None and fault is not Fault.NONE:
            strikes = fault.strikes(thread.point.method)
            strikes &= thread.point.method != STATE or fault in DEATHS
            outcome.struck = strikes
        machine.go(thread, fault if strikes else Fault.NONE)
    else:
        raise Violation(f"STUCK after {LONGEST} turns")
    outcome.requests = len(struck.requests)
    if machine.late and chance.random() < 0.5:
        machine.arrive(0)


def _manifest(store: Shelf) -> Manifest:
    """What a reader holds that began before; an empty log where there is none."""
    try:
        return log.read_head(store, KEYS).manifest
    except NotFound:
        return commit.new_manifest(KEYS, commit.new_commit("nobody"))


def everything(store: Shelf) -> list[int]:
    return visible(store) + visible(store, OTHER_KEYS)


def _look(store: Shelf, truth: Truth, setting: Setting, dead: bool = False) -> int:
    """While others are at work: nothing acknowledged is missing, nothing torn, nothing twice."""
    setting.also(store, truth)
    if setting.unsettled and "raw/singerlake.json" not in store.versions():
        return 0
    try:
        there = everything(store)
        replays = truth.require(there)
    except Violation:
        if setting.unsettled and KEYS.manifest not in store.versions():
            return 0
        raise
    if dead and not setting.unsettled and "raw/singerlake.json" in store.versions():
        copy = Shelf("crash-copy")
        copy.fill(store)
        _only_leftovers(check(copy, fix=True, times=TIMES))
        truth.require(everything(copy))
    return replays


def _afterwards(store: Shelf, truth: Truth) -> None:
    """The next writers go on; then all is mended, from the manifest or from the files alone."""
    for stream, version in ((STREAM, 1), (STREAM, 2), (OTHER, 1)):
        number = OF_OTHER[-1] if stream == OTHER else NEXT + version
        land(store, [number], stream, version, times=TIMES)
        truth.send([number])
        truth.acknowledge([number])
    _only_leftovers(check(store, fix=True, times=TIMES))
    there = everything(store)
    truth.require(there)
    vacuum(store, KEYS, ALL, run=in_order)
    purge(store, KEYS, NOW, abandoned=NOW)
    report = check(store, times=TIMES)
    if not report.clean:
        raise Violation(f"BROKE {codes(report)}: after a fix and a purge")
    if everything(store) != there:
        raise Violation("LOST: a vacuum changed what is there")
    lost = Shelf("crash-copy")
    lost.fill(store)
    lost.delete(KEYS.manifest)
    rebuild(lost)
    truth.require(everything(lost))


def _only_leftovers(report: CheckReport) -> None:
    if wrong := set(codes(report, Level.ERROR, Level.LEFTOVER)) - LEFTOVERS:
        raise Violation(f"BROKE {sorted(wrong)}: more than leftovers")
