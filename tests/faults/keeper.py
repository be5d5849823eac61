"""The thread that refreshes a held lock, under a machine's schedule.

Where a machine has no ticks to give there is none: a lock is then stale as soon as somebody has
looked at it twice, which is the worst that can happen to its holder.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any
from unittest import mock

from greenlet import getcurrent

from singerlake.lake import lock
from tests.faults.process import JOIN, TICK, Point, Thread
from tests.lake.faulty_store import Died


@contextlib.contextmanager
def scheduled() -> Iterator[None]:
    """Locks that processes hold in here are refreshed when the schedule says so."""
    kind: Any = lock._Keeper

    def start(keeper: Any) -> None:
        holder = getcurrent()
        if not isinstance(holder, Thread) or not holder.process.machine.ticks:
            return
        process = holder.process

        def run(_: object) -> None:
            with contextlib.suppress(Died):
                while not keeper.done.wait(keeper.refresh_every):
                    if not keeper.refresh():
                        return

        thread = Thread(process, f"{process.name} keeper {len(process.threads)}", run)
        keeper.done = _Done(thread)
        process.threads.append(thread)
        thread.point = Point(TICK, "")

    def stop(keeper: Any) -> None:
        if not hasattr(keeper, "done"):
            return
        keeper.done.set()
        thread = keeper.done.thread
        with contextlib.suppress(Died):
            if thread.point is not None and thread.point.method != TICK:
                thread.process.request(JOIN, "", lambda: None)
        # It is at rest, and finds that it is done; or the process is dead.
        thread.point = None

    with mock.patch.object(kind, "start", start), mock.patch.object(kind, "stop", stop):
        yield


class _Done:
    """The event that ends a keeper; waiting for it is a tick."""

    def __init__(self, thread: Thread) -> None:
        self.thread = thread
        self._begun = self._set = False

    def set(self) -> None:
        self._set = True

    def wait(self, timeout: float) -> bool:
        """The first wait is over already: the thread begins at its first tick."""
        if self._begun:
            self.thread.stop_at(Point(TICK, ""))
        self._begun = True
        return self._set or self.thread.process.dead
