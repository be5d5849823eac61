"""All interleavings of a model, breadth first.

STRANDED is a state from which no state that is done can be reached any more.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol


class Model(Protocol):
    def begin(self) -> Hashable: ...

    def steps(self, state: Any) -> Iterable[tuple[str, Hashable]]: ...

    def violations(self, state: Any) -> set[str]: ...

    def is_done(self, state: Any) -> bool: ...


@dataclass
class Explored:
    """`traces` has the shortest way to each violation."""

    states: int = 0
    transitions: int = 0
    done: int = 0
    is_complete: bool = True
    traces: dict[str, list[str]] = field(default_factory=dict)

    @property
    def violations(self) -> set[str]:
        return set(self.traces)


def explore(model: Model, most: int = 1_000_000, wanted: str = "") -> Explored:
    """All states, at most so many; only up to a violation where one is `wanted`."""
    begin = model.begin()
    numbers: dict[Hashable, int] = {begin: 0}
    states: list[Hashable | None] = [begin]
    parents: list[tuple[int, str] | None] = [None]
    before: list[list[int]] = [[]]
    found: dict[str, int] = {}
    done, waiting, result = [], deque([0]), Explored()
    while waiting:
        number = waiting.popleft()
        state = states[number]
        for violation in model.violations(state):
            found.setdefault(violation, number)
        if wanted in found:
            result.is_complete = False
            break
        if model.is_done(state):
            done.append(number)
        for label, after in model.steps(state):
            result.transitions += 1
            other = numbers.get(after)
            if other is None:
                if len(states) >= most:
                    result.is_complete = False
                    continue
                other = numbers[after] = len(states)
                states.append(after)
                parents.append((number, label))
                before.append([])
                waiting.append(other)
            before[other].append(number)
    result.states, result.done = len(states), len(done)
    stranded = _unable(before, done)
    if stranded is not None and result.is_complete:
        found["STRANDED"] = stranded
    result.traces = {violation: _trace(parents, at) for violation, at in found.items()}
    return result


def _unable(before: list[list[int]], done: list[int]) -> int | None:
    """The first state that leads to none that is done."""
    able = bytearray(len(before))
    for number in done:
        able[number] = 1
    waiting = list(done)
    while waiting:
        for earlier in before[waiting.pop()]:
            if not able[earlier]:
                able[earlier] = 1
                waiting.append(earlier)
    return next((number for number, ok in enumerate(able) if not ok), None)


def _trace(parents: list[tuple[int, str] | None], number: int) -> list[str]:
    labels = []
    while (parent := parents[number]) is not None:
        number, label = parent
        labels.append(label)
    return labels[::-1]
