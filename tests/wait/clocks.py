"""A clock that a test sets."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone

from singerlake.runtime import Runtime


class SetClock(Runtime):
    """Only the test, and waiting, move it."""

    def __init__(self, text: str = "2026-07-07T08:00") -> None:
        self._now = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)

    def now(self) -> datetime:
        return self._now

    def set(self, text: str) -> None:
        self._now = datetime.fromisoformat(text).replace(tzinfo=timezone.utc)

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        self._now += timedelta(seconds=seconds)
        return woken.is_set()
