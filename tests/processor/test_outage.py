"""Outages: how long probes wait, and that nobody holds a key meanwhile."""

from __future__ import annotations

import threading
from typing import Any

from singerlake.processor import Event, MemoryEngine, Processor
from singerlake.processor.engine.values import Outcome, Turn
from singerlake.processor.outage import FIRST_PROBE, Outage
from singerlake.runtime import Runtime
from tests.processor.running import running, until


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


def test_a_key_that_came_as_the_outage_began_is_held_by_nobody() -> None:
    """Its lease would end while its slot waits: an attempt would count, two would work on it."""

    class Slow(MemoryEngine):
        """The first slot gets its next key while the second one's failure begins the outage."""

        def turn(self, *given: Any, **options: Any) -> Turn:
            found = super().turn(*given, **options)
            if not reported.is_set() and any(isinstance(one, Outcome) for one in given):
                assert found.grant is not None
                held.append(found.grant.key)
                reported.set()
                until(lambda: processor.outage.lasts)
            return found

    calls: list[tuple[str, int]] = []
    held: list[str] = []
    reported, is_over = threading.Event(), threading.Event()

    def job(event: Event) -> None:
        calls.append((event.key, event.deliveries))
        if len(calls) == 2:
            assert reported.wait(60)
        if not is_over.is_set():
            raise OSError("the sink is down")

    with Slow() as engine:
        for number in range(3):
            engine.add(f"k{number}", 1)
        processor = Processor(engine, job, concurrency=2, outage_keys=2, lease=0.6)
        with running(processor):
            until(lambda: len(calls) > 3)
            is_over.set()
            until(lambda: not any(state.waiting for state in engine.states()))
    assert {deliveries for key, deliveries in calls if key == held[0]} == {1}
