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

ALONE_SECONDS = 0.005
"""How long a thread works alone, before it gets help."""


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

    def start(self, work: Callable[[], object], name: str) -> threading.Thread:
        """Do the work in a thread of its own, which does not keep the process alive."""
        thread = threading.Thread(target=work, name=name, daemon=True)
        thread.start()
        return thread

    def join(self, thread: threading.Thread, seconds: float) -> bool:
        """Wait until a thread ends, at most so long; returns whether it has."""
        thread.join(seconds)
        return not thread.is_alive()

    def map(
        self, work: Callable[[Item], Result], items: Sequence[Item], workers: int
    ) -> list[Result]:
        """The results in the order of the items, by at most so many threads.

        The caller's own begins alone: work that does not wait is done before others are of use.
        """
        if len(items) < 2 or workers < 2:
            return [work(item) for item in items]
        results: list[Result | None] = [None] * len(items)
        # Threads take turns at one iterator: a future for each item costs more than a stat.
        indexes = iter(range(len(items)))
        turn, done = threading.Lock(), threading.Event()

        def take_turns() -> None:
            while True:
                with turn:
                    index = next(indexes, None)
                if index is None:
                    return
                results[index] = work(items[index])

        def bring_others() -> None:
            if not done.wait(ALONE_SECONDS):
                others = [pool.submit(take_turns) for _ in range(helpers - 1)]
                take_turns()
                for other in others:
                    other.result()

        helpers = min(workers, len(items)) - 1
        with ThreadPoolExecutor(helpers, thread_name_prefix="singerlake") as pool:
            first = pool.submit(bring_others)
            try:
                take_turns()
            finally:
                done.set()
            first.result()
        return results  # type: ignore[return-value]


REAL = Runtime()
