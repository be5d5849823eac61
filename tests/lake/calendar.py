"""A clock that a test moves by hand: for what depends on days."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo

import pytest

from singerlake.lake import clock
from singerlake.store import memory
from tests.lake.landing import EPOCH


class Calendar:
    """The time of the lake and of memory stores. Each look at it takes a microsecond."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._moment = EPOCH
        monkeypatch.setattr(clock, "now", self.now)
        monkeypatch.setattr(memory, "datetime", self)

    def now(self, zone: tzinfo | None = None) -> datetime:
        self._moment += timedelta(microseconds=1)
        return self._moment

    def pass_days(self, days: float) -> None:
        self._moment += timedelta(days=days)
