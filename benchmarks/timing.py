"""Timing on machines that do other things too: many samples, of which the best counts."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from typing import TypeVar

T = TypeVar("T")


class Samples:
    """Times by case, in seconds."""

    def __init__(self) -> None:
        self._seconds: defaultdict[Hashable, list[float]] = defaultdict(list)

    def time(self, case: Hashable, work: Callable[[], T]) -> T:
        begun = time.perf_counter()
        result = work()
        self._seconds[case].append(time.perf_counter() - begun)
        return result

    def __contains__(self, case: Hashable) -> bool:
        return case in self._seconds

    def best(self, case: Hashable) -> float:
        return min(self._seconds[case])

    def median(self, case: Hashable) -> float:
        return statistics.median(self._seconds[case])
