"""Random histories with real processes: several work on one lake at once, some die, and between the
rounds the lake is moved, or its manifest is lost or replaced by an older one."""

from __future__ import annotations

import functools
import os
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from singerlake.errors import SingerlakeError
from singerlake.format import manifest as manifests
from singerlake.lake import check, clock, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from tests.faults.pipeline import Place
from tests.faults.test_kills import KILLED, SMALL, Killing, commit_each
from tests.faults.truth import Violation
from tests.forking import fork
from tests.lake.landing import KEYS, QUICK, codes, land, land_each, numbers_in

NOW = timedelta(0)
ROUNDS = 5
MOST_REQUESTS = 40
SAID = 3
"""The exit code of a process that ends with an error for its user."""

HOURS = (0, 0, 0, -720, -200, 200, 720)
"""How far the clock of a process may be set."""

Work = Callable[[Store, list[int], Path, bool], object]
WORK: dict[str, Work] = {
    "commits": lambda store, numbers, told, early: commit_each(store, numbers, told, early=early),
    "vacuum": lambda store, *_: vacuum(store, KEYS, SMALL),
    "purge": lambda store, *_: purge(store, KEYS, NOW),
    "purge by default": lambda store, *_: purge(store, KEYS),
    "rebuild": lambda store, *_: rebuild(store),
    "fix": lambda store, *_: check(store, fix=True, times=QUICK),
}


@dataclass(frozen=True)
class Task:
    """What one process does, on which clock, and at which request it dies, if at any."""

    place: Place
    name: str
    numbers: list[int]
    hours: int
    dies_at: int
    told: Path
    early: bool


def work(task: Task) -> None:
    """In a process of its own."""
    manifests.FAN_OUT = 2
    clock.now = functools.partial(_later, clock.now, timedelta(hours=task.hours))
    store = task.place.store()
    if task.dies_at:
        store = Killing(store, task.dies_at, after=task.dies_at % 2 == 1)
    try:
        WORK[task.name](store, task.numbers, task.told, task.early)
    except SingerlakeError:
        os._exit(SAID)
    os._exit(0)


def _later(now: Callable[[], object], by: timedelta) -> object:
    return now() + by  # type: ignore[operator]


@dataclass
class Rounds:
    """A lake, and what was acknowledged. `folder` is for what processes tell."""

    place: Place
    folder: Path
    chance: random.Random
    early: bool = False
    faults: int = 0
    acknowledged: set[int] = field(default_factory=set)
    _next: int = 4
    _moves: int = 0

    def play(self) -> None:
        """Raises `Violation`."""
        land_each(self.place.store(), range(4), times=QUICK)
        self.acknowledged |= set(range(4))
        for number in range(ROUNDS):
            older = self.place.store().read(KEYS.manifest).data
            self._work(number)
            self._require()
            restore = functools.partial(self._restore, older)
            self.chance.choice((self._move, self._lose, restore, _nothing))()
            self._require()
        self._end()

    def _work(self, number: int) -> None:
        told = self.folder / f"told {number}"
        tasks = [self._task(told) for _ in range(self.chance.randint(2, 3))]
        processes = [fork.Process(target=work, args=(task,)) for task in tasks]
        told.touch()
        for process in processes:
            process.start()
        for task, process in zip(tasks, processes, strict=True):
            process.join(120)
            if process.exitcode not in (0, SAID, KILLED):
                raise Violation(f"BROKE {task.name}: it ended with {process.exitcode}")
            self.faults += process.exitcode == KILLED
        self.acknowledged |= {int(line) for line in told.read_text().split()}

    def _task(self, told: Path) -> Task:
        chance = self.chance
        name = chance.choice(["commits", *WORK])
        self._next += 2
        numbers = [self._next - 2, self._next - 1]
        dies_at = chance.choice((0, chance.randint(1, MOST_REQUESTS)))
        hours = chance.choice(HOURS)
        return Task(self.place, name, numbers, hours, dies_at, told, self.early)

    def _move(self) -> None:
        """A copy in the order of the keys takes its place."""
        self._moves += 1
        first = self.place.url.partition("-moved-")[0]
        there = replace(self.place, url=f"{first}-moved-{self._moves}")
        old, new = self.place.store(), there.store()
        for row in old.list(""):
            with old.open(row.key) as source:
                new.create(row.key, source.read())
        self.place = there

    def _lose(self) -> None:
        store = self.place.store()
        store.delete(KEYS.manifest)
        rebuild(store)

    def _restore(self, older: bytes) -> None:
        """Writers go on before anybody notices."""
        store = self.place.store()
        store.delete(KEYS.manifest)
        store.create(KEYS.manifest, older)
        land(store, [self._next], times=QUICK)
        self.acknowledged.add(self._next)
        self._next += 1
        rebuild(store)

    def _require(self) -> None:
        there = Counter(numbers_in(self.place.store()))
        if lost := self.acknowledged - there.keys():
            raise Violation(f"LOST {sorted(lost)}: acknowledged, and not in the lake")
        if twice := [number for number, times in there.items() if times > 1]:
            raise Violation(f"TWICE {sorted(twice)}")

    def _end(self) -> None:
        """No more faults: a fresh commit succeeds, and nothing stays that a purge does not take."""
        store = self.place.store()
        land(store, [self._next], times=QUICK)
        self.acknowledged.add(self._next)
        check(store, fix=True, times=QUICK)
        purge(store, KEYS, NOW, abandoned=NOW)
        self._require()
        if wrong := codes(check(store, times=QUICK)):
            raise Violation(f"LEFT {wrong}")


def _nothing() -> None:
    """The lake stays where it is."""
