"""Reading many files at once, with a bounded number of them under way."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")

Progress = Callable[[int, int], None]
"""Told, after each file, how many have been read, and how many there are."""

WORKERS = 16
"""Threads: they wait for the store most of the time, and inflate without Python's lock."""


def in_parallel(work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
    """The results in the order of the items; never more than a few dozen are waiting."""
    waiting: deque[Future[Result]] = deque()
    with ThreadPoolExecutor(WORKERS, thread_name_prefix="singerlake-read") as threads:
        try:
            for item in items:
                waiting.append(threads.submit(work, item))
                if len(waiting) > 4 * WORKERS:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def no_progress(done: int, total: int) -> None:
    """For callers that show none."""


class Steps:
    """Counts files for a `Progress`."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress, self._total, self._done = progress, total, 0

    def step(self) -> None:
        self._done += 1
        self._progress(self._done, max(self._done, self._total))
