"""Time, waiting, ids and threads: one object, so that a test can replace all of them together."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timezone
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


class Runtime:
    """What a program gets from its machine."""

    def now(self) -> datetime:
        """The wall clock, in UTC: for people, never for order."""
        return datetime.now(timezone.utc)

    def monotonic(self) -> float:
        """Seconds on a clock that never goes back."""
        return time.monotonic()

    def new_id(self) -> str:
        """32 hexadecimal digits that nobody else has."""
        return uuid.uuid4().hex

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        """Wait until somebody sets the event, at most so long; returns whether it was set."""
        return woken.wait(seconds)

    def map(
        self, work: Callable[[Item], Result], items: Sequence[Item], workers: int
    ) -> list[Result]:
        """The results in the order of the items, by at most so many threads."""
        if len(items) < 2 or workers < 2:
            return [work(item) for item in items]
        results: list[Result | None] = [None] * len(items)
        # Threads take turns at one iterator: a future for each item costs more than a stat.
        indexes = iter(range(len(items)))
        turn = threading.Lock()

        def take_turns() -> None:
            while True:
                with turn:
                    index = next(indexes, None)
                if index is None:
                    return
                results[index] = work(items[index])

        threads = min(workers, len(items))
        with ThreadPoolExecutor(threads, thread_name_prefix="singerlake") as pool:
            for future in [pool.submit(take_turns) for _ in range(threads)]:
                future.result()
        return results  # type: ignore[return-value]


REAL = Runtime()
