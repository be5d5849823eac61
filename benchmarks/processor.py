"""Seconds of processor of this process and all that it started: steadier than those of the clock
on a machine that does other things too."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

_PROCESSES = Path("/proc")


def seconds() -> float | None:
    """User and system time so far; None where the system has no `/proc`.

    Processes that have ended count once their parent has taken notice.
    """
    if not (_PROCESSES / "self" / "stat").exists():
        return None
    ticks: dict[int, int] = {}
    children: defaultdict[int, list[int]] = defaultdict(list)
    for folder in _PROCESSES.glob("[0-9]*"):
        try:
            # The name, in brackets, may hold anything.
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        number = int(folder.name)
        children[int(fields[1])].append(number)
        ticks[number] = sum(map(int, fields[11:15]))
    total, family = 0, [os.getpid()]
    while family:
        number = family.pop()
        total += ticks.get(number, 0)
        family += children[number]
    return total / os.sysconf("SC_CLK_TCK")
