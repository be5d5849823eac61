"""The emitter: nobody waits for it, nothing of it fails, and what is unsent is counted."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from functools import partial

import pytest

from singerlake.errors import NoAnswer
from singerlake.lineage.emitter import emitter as emitters
from singerlake.lineage.emitter.emitter import Emitter
from singerlake.lineage.emitter.sender import Refused
from singerlake.lineage.event.value import Dataset, DatasetEvent, Event
from singerlake.runtime import Runtime
from tests.zygote import PATIENCE

logger = logging.getLogger("test")


class NoPauses(Runtime):
    """Time passes only where somebody joins a thread."""

    def wait(self, woken: threading.Event, seconds: float) -> bool:
        return woken.wait(0.001)


def event(number: int) -> list[Event]:
    dataset = Dataset(namespace="n", name=str(number))
    return [DatasetEvent(event_time="2026-11-18T00:00:00Z", dataset=dataset)]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(emitters, "AT_THE_END", PATIENCE)


def test_events_go_out_in_the_order_of_the_reports() -> None:
    sent: list[bytes] = []
    emitter = Emitter(sent.append, "x", logger, NoPauses())
    for number in range(200):
        emitter.report(lambda number=number: event(number))  # type: ignore[misc]
    counts = emitter.close()
    assert [f'"name":"{n}"'.encode() in data for n, data in enumerate(sent)] == [True] * 200
    assert (counts.sent, counts.unsent) == (200, 0)


def test_an_event_is_sent_until_it_is_taken() -> None:
    tries: list[bytes] = []

    def third_time(data: bytes) -> None:
        tries.append(data)
        if len(tries) % 3:
            raise NoAnswer("not now")

    emitter = Emitter(third_time, "x", logger, NoPauses())
    for number in range(5):
        emitter.report(lambda number=number: event(number))  # type: ignore[misc]
    assert emitter.close().sent == 5
    assert len(tries) == 15
    assert tries == [each for each in tries[::3] for _ in range(3)]


def test_what_does_not_fit_is_counted(caplog: pytest.LogCaptureFixture) -> None:
    hold, begun = threading.Event(), threading.Event()

    def slow(data: bytes) -> None:
        begun.set()
        hold.wait()

    emitter = Emitter(slow, "x", logger, NoPauses(), most_waiting=3)
    emitter.report(lambda: event(0))
    begun.wait()
    for number in range(10):
        emitter.report(lambda number=number: event(number), 2)  # type: ignore[misc]
    hold.set()
    counts = emitter.close()
    assert counts.sent + counts.dropped / 2 == 11
    assert counts.dropped >= 14
    assert f"and {counts.dropped} were not" in caplog.text


def test_the_end_waits_no_longer_than_it_may(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(emitters, "AT_THE_END", 0.05)
    hold = threading.Event()

    def never(data: bytes) -> None:
        hold.wait()
        raise NoAnswer("gone")

    emitter = Emitter(never, "x", logger)
    for number in range(4):
        emitter.report(lambda number=number: event(number))  # type: ignore[misc]
    counts = emitter.close()
    hold.set()
    assert (counts.sent, counts.left) == (0, 4)
    assert "and 4 were not" in caplog.text
    emitter.report(lambda: event(9))  # after the end: counted, not kept
    assert counts.dropped == 1


def test_a_fault_in_one_event_keeps_no_other_back(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[bytes] = []

    def refuse_two(data: bytes) -> None:
        if b'"name":"2"' in data:
            raise Refused("400")
        sent.append(data)

    def broken() -> list[Event]:
        raise KeyError("a fault")

    emitter = Emitter(refuse_two, "x", logger, NoPauses())
    for number in range(4):
        emitter.report(broken if number == 1 else lambda number=number: event(number))  # type: ignore[misc]
    counts = emitter.close()
    assert (counts.sent, counts.failed, counts.refused) == (2, 1, 1)
    assert caplog.text.count("Lineage: an event could not be made") == 1


def test_a_fault_of_a_sender_does_not_end_its_thread(caplog: pytest.LogCaptureFixture) -> None:
    sent: list[bytes] = []

    def send(data: bytes) -> None:
        sent.append(data)
        if len(sent) == 1:
            raise KeyError("a fault")

    emitter = Emitter(send, "x", logger)
    for number in range(3):
        emitter.report(partial(event, number))
    counts = emitter.close()
    assert (counts.sent, counts.failed, counts.left) == (2, 1, 0)
    assert "could not be sent (KeyError)" in caplog.text


def test_a_machine_without_room_for_a_thread_costs_events_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Full(Runtime):
        def start(self, work: Callable[[], object], name: str) -> threading.Thread:
            raise RuntimeError("can't start new thread")

    emitter = Emitter(lambda data: None, "x", logger, Full())
    emitter.report(lambda: event(1), 2)
    assert emitter.close().dropped == 2
    assert "can't start new thread" in caplog.text


def test_reports_from_many_threads_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[str] = []

    class Counting(Runtime):
        def start(self, work: Callable[[], object], name: str) -> threading.Thread:
            begun.append(name)
            return super().start(work, name)

    sent: list[bytes] = []
    emitter = Emitter(sent.append, "x", logger, Counting())
    threads = [threading.Thread(target=emitter.report, args=(lambda: event(1),)) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert emitter.close().sent == 20
    assert len(begun) == 1


def test_no_thread_is_started_for_nothing() -> None:
    before = threading.active_count()
    assert Emitter(lambda data: None, "x", logger).close().sent == 0
    assert threading.active_count() == before
