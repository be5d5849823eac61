"""Simulated processes: the product's own code, which stops at every request to the store.

A process runs on only while it has the turn, so what happens between the requests of different
processes is for a schedule to say. Each is a greenlet, or two while it keeps a lock fresh: there
is one real thread, and nothing that could differ from one run to the next. Death is for the whole
process: from then on no request of it is answered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

from greenlet import getcurrent, greenlet

from singerlake.errors import OutcomeUnknown, SingerlakeError, Unavailable
from singerlake.store import Listed, Store, Stored
from tests.faults.fault import REFUSALS, WRITES, Fault
from tests.faults.life import Life, World
from tests.lake.faulty_store import Died, Intercepting

Result = TypeVar("Result")
Body = Callable[["Process"], None]

STATE = "state"
"""The pseudo-request by which a process tells that something is acknowledged."""

TICK = "tick"
"""The one by which a lock's keeper waits for its time to refresh."""

JOIN = "join"
"""The one by which the lock's holder waits for the keeper's last request."""


@dataclass(frozen=True)
class Point:
    """Where a thread stopped: the request that it is about to make."""

    method: str
    key: str
    version: str = ""
    """Which one has to lie there, for a `replace`."""

    def __str__(self) -> str:
        return f"{self.method} {self.key.rpartition('/')[2]}".strip()


class Thread(greenlet):
    """A thread of a process; it tells `point` while it waits for the turn."""

    def __init__(self, process: Process, name: str, work: Callable[..., None]) -> None:
        super().__init__(work, parent=process.machine.hub)
        self.process, self.name = process, name
        self.point: Point | None = None

    def stop_at(self, point: Point) -> Fault:
        """On the thread itself: give the turn back; with the next one comes what is to happen."""
        self.point = point
        return self.process.machine.hub.switch()  # type: ignore[no-any-return]


@dataclass
class Late:
    """A write that hangs: it may arrive at any later moment."""

    name: str
    arrive: Callable[[], object]


@dataclass
class Machine:
    """Holds the processes, and gives one of them the turn."""

    world: World
    store: Store
    ticks: int = 0
    """How often locks may be refreshed, in all."""

    lives: int = 0
    """How many processes other machines have had before: no two take the same identifiers."""

    processes: list[Process] = field(default_factory=list)
    late: list[Late] = field(default_factory=list)
    hub: greenlet = field(default_factory=getcurrent)

    def start(self, name: str, body: Body) -> Process:
        """Start a process; it stops at its first request."""
        process = Process(self, name, body)
        self.processes.append(process)
        self._turn(process.threads[0], ())
        return process

    def ready(self) -> list[Thread]:
        """The threads that can go on now."""
        return [
            thread
            for process in self.processes
            for thread in process.threads
            if thread.point is not None and self._may_go(thread, thread.point.method)
        ]

    def _may_go(self, thread: Thread, method: str) -> bool:
        if method == TICK:
            return self.ticks > 0
        return method != JOIN or all(
            other.point is None or other.point.method in (TICK, JOIN)
            for other in thread.process.threads
        )

    def go(self, thread: Thread, fault: Fault = Fault.NONE) -> None:
        """Give a thread the turn until its next request; what it asked for now has this fault."""
        if thread.point is not None and thread.point.method == TICK:
            self.ticks -= 1
        self._turn(thread, (fault,))
        if thread.process.dead:
            self.kill(thread.process)

    def kill(self, process: Process) -> None:
        """No request is answered any more: its threads come to their end."""
        process.dead = True
        while waiting := [thread for thread in process.threads if thread.point is not None]:
            self._turn(waiting[0], (Fault.NONE,))

    def arrive(self, index: int) -> None:
        """A late write arrives; whether it is refused, nobody hears."""
        with contextlib.suppress(SingerlakeError):
            self.late.pop(index).arrive()

    def end(self) -> None:
        for process in self.processes:
            if not process.over:
                self.kill(process)

    def _turn(self, thread: Thread, arguments: tuple[Any, ...]) -> None:
        self.world.current = thread.process.life
        thread.point = None
        thread.switch(*arguments)
        self.world.current = self.world.outside


class Process:
    """A process: a body of real code, on a store whose every request waits for the turn."""

    def __init__(self, machine: Machine, name: str, body: Body) -> None:
        self.machine, self.name = machine, name
        self.life = Life(number=machine.lives + len(machine.processes) + 1)
        self.store: Store = _Stopping(self)
        self.dead = self.over = False
        self.error: BaseException | None = None
        self.requests: list[Point] = []
        self.trace = 0
        """Of everything that it asked and heard: what it does next follows from that."""

        self._body = body
        self.threads = [Thread(self, name, self._run)]

    def _run(self) -> None:
        try:
            self._body(self)
        except BaseException as error:
            self.error = error
        self.over = True

    @property
    def failed(self) -> bool:
        """Whether it came to an end with an error that the product tells its user."""
        return isinstance(self.error, SingerlakeError)

    def acknowledge(self, tell: Callable[[], object]) -> None:
        """Pass a STATE on: a death can come before."""
        self.request(STATE, "", tell)

    def request(
        self, method: str, key: str, call: Callable[[], Result], version: str = ""
    ) -> Result:
        """On any thread of the process: stop, then do what the schedule says."""
        if self.dead:
            raise Died
        thread = getcurrent()
        assert isinstance(thread, Thread)
        point = Point(method, key, version)
        fault = thread.stop_at(point)
        if self.dead:
            raise Died
        self.requests.append(point)
        try:
            answer = self._strike(fault, point, call)
        except SingerlakeError as error:
            self.trace = hash((self.trace, thread.name, point, type(error)))
            raise
        self.trace = hash((self.trace, thread.name, point, _told(answer)))
        return answer

    def _strike(self, fault: Fault, point: Point, call: Callable[[], Result]) -> Result:
        what = f"{fault.value}: {point.method} {point.key}"
        if fault is Fault.NONE:
            return call()
        if fault is Fault.DIES_BEFORE:
            self.dead = True
            raise Died
        if fault is Fault.FAILS or (fault is Fault.HANGS and point.method not in WRITES):
            raise Unavailable(what)
        if fault is Fault.HANGS:
            self.machine.late.append(Late(f"{self.name} {len(self.requests)} {point}", call))
            raise OutcomeUnknown(what)
        if fault is Fault.UNDONE:
            raise OutcomeUnknown(what)
        call()
        if fault is Fault.DIES_AFTER:
            self.dead = True
            raise Died
        if fault is Fault.REFUSED:
            raise REFUSALS[point.method](what)
        raise OutcomeUnknown(what)


def _told(answer: Any) -> object:
    """What of an answer the process can act upon."""
    if isinstance(answer, Stored):
        return answer.version
    if isinstance(answer, list):
        return tuple(_row(row) for row in answer)
    return answer if isinstance(answer, str) else None


def _row(row: Any) -> object:
    return row.key if isinstance(row, Listed) else row


class _Stopping(Intercepting):
    """Every request of a process goes through it."""

    def __init__(self, process: Process) -> None:
        super().__init__(process.machine.store)
        self._process = process

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        return self._process.request(method, key, call)

    def replace(self, key: str, data: bytes, version: str) -> str:
        return self._process.request(
            "replace", key, lambda: self.inner.replace(key, data, version), version
        )
