"""Workers: threads for work that blocks, such as a query or a request to a store.

Not the event loop's own pool: its threads are waited for at the exit of the process, and a store
that hangs would hold up a stop.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from queue import SimpleQueue
from typing import TypeVar

from singerlake.runtime import REAL, Runtime

Item = TypeVar("Item")
Result = TypeVar("Result")
_Job = Callable[[], None]


class Workers:
    """At most `count` threads; they start as they are needed, and end with the process."""

    def __init__(self, count: int, runtime: Runtime = REAL) -> None:
        self._count, self._runtime = count, runtime
        self._jobs: SimpleQueue[_Job] = SimpleQueue()
        self._started = self._busy = 0

    async def run(self, work: Callable[[], Result]) -> Result:
        """The work's result or error. A caller that is cancelled leaves at once: work that has
        begun goes on without it, other work is dropped."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Result] = loop.create_future()

        def job() -> None:
            if future.cancelled():
                return
            try:
                result = work()
            except StopIteration as error:  # a future takes any other
                _hand_over(loop, future, None, RuntimeError(repr(error)))
            except BaseException as error:  # it belongs to whoever asked
                _hand_over(loop, future, None, error)
            else:
                _hand_over(loop, future, result, None)

        self._busy += 1
        future.add_done_callback(self._done)
        if self._busy > self._started and self._started < self._count:
            self._started += 1
            self._runtime.start(self._work, f"singerlake-worker-{self._started}")
        self._jobs.put(job)
        return await future

    async def iterate(self, items: Iterator[Item]) -> AsyncIterator[Item]:
        """The items of an iterator that blocks, one by one."""
        end = object()
        while (item := await self.run(lambda: next(items, end))) is not end:
            yield item  # type: ignore[misc]

    def _done(self, future: asyncio.Future[Result]) -> None:
        self._busy -= 1

    def _work(self) -> None:
        while True:
            self._jobs.get()()


def _hand_over(
    loop: asyncio.AbstractEventLoop,
    future: asyncio.Future[Result],
    result: Result | None,
    error: BaseException | None,
) -> None:
    def settle() -> None:
        if future.done():
            return
        if error is None:
            future.set_result(result)  # type: ignore[arg-type]
        else:
            future.set_exception(error)

    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        return  # the loop was closed: nobody waits any more
