"""Seconds of processor of this process and all that it started: steadier than those of the clock
on a machine that does other things too. And on which cores all of them run."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_PROCESSES = Path("/proc")


def seconds() -> float | None:
    """User and system time so far; None where the system has no `/proc`.

    Processes that have ended count once their parent has taken notice.
    """
    if not (_PROCESSES / "self" / "stat").exists():
        return None
    ticks = {number: sum(map(int, fields[11:15])) for number, fields in _family()}
    return sum(ticks.values()) / os.sysconf("SC_CLK_TCK")


@contextmanager
def pinned(cores: int) -> Iterator[None]:
    """Inside the block, this process and all that it started, or starts then, share so many cores.

    Where the system has no `/proc`, they have them all.
    """
    if not (_PROCESSES / "self" / "task").exists():
        yield
        return
    every = os.sched_getaffinity(0)
    _pin(set(sorted(every)[:cores]))
    try:
        yield
    finally:
        _pin(every)


def _pin(cores: set[int]) -> None:
    for number, _ in _family():
        for thread in (_PROCESSES / str(number) / "task").glob("*"):
            with suppress(ProcessLookupError):  # it has ended
                os.sched_setaffinity(int(thread.name), cores)


def _family() -> Iterator[tuple[int, list[str]]]:
    """This process and all that it started, each with what the system says of it, from its state
    on."""
    told: dict[int, list[str]] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            # The name, in brackets, may hold anything.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        told[int(folder.name)] = fields
        children[int(fields[1])].append(int(folder.name))
    family = [os.getpid()]
    while family:
        number = family.pop()
        if number in told:
            yield number, told[number]
        family += children[number]
