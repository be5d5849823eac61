"""An engine in memory, for tests of jobs: its clock stands until somebody moves it."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone

from singerlake.processor.engine.base import BACKLOG
from singerlake.processor.engine.sqlite.engine import SqliteEngine
from singerlake.runtime import Runtime


class _Clock(Runtime):
    def __init__(self, begin: datetime | None) -> None:
        self.fixed = begin

    def now(self) -> datetime:
        return super().now() if self.fixed is None else self.fixed


class MemoryEngine(SqliteEngine):
    """The embedded engine without a file: the same code, so the same behaviour.

    With `begin`, time stands there until `advance` moves it: leases, back-offs and scheduled
    events are tested without waiting.
    """

    def __init__(self, begin: datetime | None = None, backlog: int = BACKLOG) -> None:
        if begin is not None and begin.tzinfo is None:
            begin = begin.replace(tzinfo=timezone.utc)
        self._clock = _Clock(begin)
        super().__init__(":memory:", backlog, "normal", self._clock)
        self.open()

    def advance(self, seconds: float) -> None:
        """Move the clock of an engine that was made with `begin`."""
        if self._clock.fixed is None:
            raise ValueError("the clock runs by itself: make the engine with begin")
        self._clock.fixed += timedelta(seconds=seconds)
        self.database.notify()
