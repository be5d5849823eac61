"""What tests of the lake share."""

from __future__ import annotations

import pytest

from singerlake.format import manifest as manifests
from singerlake.lake import lock
from singerlake.store.per_process import PerProcess
from tests.lake.locking import Clock


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """A handful of files is enough for segments, and for segments of segments."""
    monkeypatch.setattr(manifests, "FAN_OUT", 2)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(lock, "time", clock)
    monkeypatch.setattr(lock, "LOOK_EVERY", 0.01)
    # The thread of the others would sleep to a time of this clock.
    monkeypatch.setattr(lock, "_rounds", PerProcess(lock._Rounds))
    return clock
