"""Outages: how long probes wait."""

from __future__ import annotations

import threading

from singerlake.processor.outage import FIRST_PROBE, Outage
from singerlake.runtime import Runtime


class Waits(Runtime):
    def __init__(self) -> None:
        self.waits: list[float] = []

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.waits.append(seconds)
        return False


def test_only_probes_that_fail_make_the_next_one_wait_for_longer() -> None:
    runtime = Waits()
    outage = Outage(3, runtime, threading.Event())
    for number in range(8):  # as many as were under way
        outage.failed(f"k{number}")
    for _ in range(3):
        assert outage.enter()
        outage.failed("k0")
        outage.leave(True)
    assert runtime.waits == [FIRST_PROBE, 2 * FIRST_PROBE, 4 * FIRST_PROBE]
    assert outage.enter()
    assert outage.succeeded()
    outage.leave(True)
    assert not outage.enter()
