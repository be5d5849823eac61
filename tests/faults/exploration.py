"""Every schedule of a few processes: a search over whose turn it is, and what goes wrong.

The search runs the product's own code. It cannot go back, so it begins anew for each branch, and
gives the same turns again. What a process does next follows from what it heard so far, so two
schedules after which the store holds the same, and every process has heard the same, go on in the
same ways: the second is left off. Nothing else is, unless a scenario bounds the pre-emptions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults.fault import Fault
from tests.faults.life import World
from tests.faults.process import Body, Machine, Process, Thread
from tests.faults.truth import Shelf, Truth, Violation, visible

LONGEST = 400
"""Turns in one schedule: more would mean that processes keep each other from an end."""


@dataclass(frozen=True)
class Scenario:
    """Processes on a lake that was prepared, and how much may go wrong.

    `bodies` are started together. Where one dies or fails before its STATE, it is started
    again, as a pipeline would be: with the same records, which are then sent a second time.
    """

    prepare: Callable[[Shelf, Truth], None]
    bodies: dict[str, Callable[[Truth], Body]]
    deaths: int = 0
    faults: int = 0
    kinds: tuple[Fault, ...] = (Fault.LOST, Fault.UNDONE, Fault.HANGS, Fault.REFUSED)
    ticks: int = 0
    takeovers: int = 1
    """How often a lock may be taken from a process that is alive: without a bound, two processes
    could take it from each other for ever."""

    preemptions: int | None = None
    wrap: Callable[[Shelf], Shelf] = lambda store: store
    also: Callable[[Shelf, Truth], object] = lambda store, truth: None
    """What has to hold besides, in every state."""


@dataclass
class Explored:
    """What a search saw. `states` differ in the store, or in what some process has heard."""

    schedules: int = 0
    states: int = 0
    ends: int = 0
    turns: int = 0
    faults: int = 0
    replays: int = 0
    violation: Violation | None = None
    trace: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Turn:
    """A choice: a thread by its place among those that are ready, or a late write."""

    place: int
    fault: Fault = Fault.NONE
    late: bool = False


def explore(
    world: World,
    scenario: Scenario,
    *,
    at_the_end: Callable[[Shelf, Truth], object] = lambda store, truth: None,
) -> Explored:
    """Run every schedule; stops at the first violation."""
    found = Explored()
    seen: set[int] = set()
    base, promised = Shelf("explored-base"), Truth()
    base.clear()
    scenario.prepare(base, promised)
    waiting: list[tuple[Turn, ...]] = [()]
    while waiting:
        run = _Run(world, scenario, base, promised)
        found.schedules += 1
        try:
            _follow(run, waiting.pop(), waiting, seen, found, at_the_end)
        except Violation as violation:
            found.violation, found.trace = violation, run.told
            break
        finally:
            run.machine.end()
    found.states = len(seen)
    return found


def _follow(
    run: _Run,
    prefix: tuple[Turn, ...],
    waiting: list[tuple[Turn, ...]],
    seen: set[int],
    found: Explored,
    at_the_end: Callable[[Shelf, Truth], object],
) -> None:
    """Give the turns of the prefix, then go on to a state that was seen before, or to the end.

    All turns of the prefix but the last were looked at when it was put in the queue.
    """
    for turn in prefix[:-1]:
        run.take(turn)
    run.look()
    ahead = prefix[-1:]
    while True:
        for turn in ahead:
            run.take(turn)
            found.turns += 1
            found.faults += turn.fault is not Fault.NONE
        replays = run.look()
        if run.key() in seen:
            return
        seen.add(run.key())
        turns = run.turns()
        if not turns:
            found.ends += 1
            found.replays += replays
            at_the_end(run.store, run.truth)
            return
        if len(prefix) > LONGEST:
            raise Violation(f"STUCK after {LONGEST} turns")
        waiting += [(*prefix, other) for other in turns[1:]]
        ahead = (turns[0],)
        prefix += ahead


class _Run:
    """One schedule."""

    def __init__(self, world: World, scenario: Scenario, base: Shelf, promised: Truth) -> None:
        self._scenario = scenario
        self.store = Shelf("explored")
        self.store.fill(base)
        self.truth = promised.copy()
        wrapped = scenario.wrap(self.store)
        self.machine = Machine(world, wrapped, ticks=scenario.ticks)
        self._deaths, self._faults = scenario.deaths, scenario.faults
        self._preemptions = scenario.preemptions
        self._takeovers = scenario.takeovers
        self._last: Thread | None = None
        self._there: list[int] = []
        self.told: list[str] = []
        self._bodies: dict[Process, str] = {}
        for name in scenario.bodies:
            self._start(name)

    def _start(self, name: str) -> None:
        process = self.machine.start(
            f"{name}.{len(self.machine.processes)}", self._scenario.bodies[name](self.truth)
        )
        self._bodies[process] = name
        self._ended(process)

    def turns(self) -> list[Turn]:
        """Everything that can happen next."""
        ready = self._ready()
        late = [Turn(place, late=True) for place in range(len(self.machine.late))]
        if not ready and any(not process.over for process in self.machine.processes):
            raise Violation("STUCK: nobody can go on")
        goes_on = self._last in ready
        possible: list[Turn] = []
        for place, thread in enumerate(ready):
            assert thread.point is not None
            if thread is self._last or not goes_on or self._preemptions != 0:
                possible.append(Turn(place))
                if self._faults:
                    method = thread.point.method
                    possible += [
                        Turn(place, kind) for kind in self._scenario.kinds if kind.strikes(method)
                    ]
            if self._deaths and thread is thread.process.threads[0]:
                possible.append(Turn(place, Fault.DIES_BEFORE))

        # The thread that had the last turn goes first: the search meets whole runs early.
        def order(turn: Turn) -> tuple[bool, bool]:
            return turn.fault is not Fault.NONE, ready[turn.place] is not self._last

        return sorted(possible, key=order) + late

    def _ready(self) -> list[Thread]:
        ready = self.machine.ready()
        polite = [thread for thread in ready if self._takeovers or not self._takes_over(thread)]
        return polite or ready  # a lock that nobody will release is taken in any case

    def _takes_over(self, thread: Thread) -> bool:
        """Whether it is about to take over a lock that is still as it saw it."""
        point = thread.point
        return (
            point is not None
            and (point.method, point.version) == ("replace", self.store.versions().get(point.key))
            and point.key.endswith("singerlake.lock")
            and thread is thread.process.threads[0]
        )

    def take(self, turn: Turn) -> None:
        if turn.late:
            self.told.append(f"late: {self.machine.late[turn.place].name}")
            self.machine.arrive(turn.place)
            return
        ready = self._ready()
        thread = ready[turn.place]
        what = "" if turn.fault is Fault.NONE else f" ({turn.fault.value})"
        self.told.append(f"{thread.name}: {thread.point}{what}")
        self._takeovers -= self._takeovers > 0 and self._takes_over(thread)
        if turn.fault is Fault.DIES_BEFORE:
            self._deaths -= 1
            self.machine.kill(thread.process)
        else:
            if self._preemptions and self._last is not thread and self._last in ready:
                self._preemptions -= 1
            if turn.fault is not Fault.NONE:
                self._faults -= 1
            self.machine.go(thread, turn.fault)
        self._last = thread
        self._ended(thread.process)

    def _ended(self, process: Process) -> None:
        """Start it again where its work is not done; what the product does not say, is a bug."""
        if not process.over:
            return
        if process.error is not None and not (process.failed or process.dead):
            raise Violation(f"BROKE {process.error!r}") from process.error
        if process.error is not None:
            self._start(self._bodies[process])

    def look(self) -> int:
        """Hold the lake against what was promised; what was committed stays where it is."""
        self._scenario.also(self.store, self.truth)
        there = visible(self.store, self.truth.keys)
        if there[: len(self._there)] != self._there:
            raise Violation(f"LOST: {self._there} was visible before, now it is {there}")
        self._there = there
        return self.truth.require(there)

    def key(self) -> int:
        """Two runs with the same key go on in the same ways."""
        return hash(
            (
                frozenset(self.store.versions().items()),
                tuple((process.trace, process.dead, process.over) for process in self.processes),
                tuple(late.name for late in self.machine.late),
                (self._deaths, self._faults, self._takeovers, self.machine.ticks),
                None if self._preemptions is None else (self._preemptions, self._last_name()),
            )
        )

    def _last_name(self) -> str:
        return self._last.name if self._last else ""

    @property
    def processes(self) -> list[Process]:
        return self.machine.processes
