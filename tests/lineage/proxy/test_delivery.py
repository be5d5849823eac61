"""What is sent: outages, moody backends, restarts, lanes, dead letters, skips, stops."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pytest

from singerlake.http.client import ClientOptions
from singerlake.lineage.buffer import Limits
from singerlake.lineage.buffer.disk import dead
from singerlake.lineage.buffer.survey import survey
from singerlake.lineage.proxy.consumer import Consumer, Order
from singerlake.lineage.proxy.lanes import Lanes
from singerlake.lineage.schema.validator import Validator
from singerlake.lineage.transport.base import Answer
from singerlake.lineage.transport.http import HttpTransport
from tests.lineage.backend import Manner, backend, moody, takes
from tests.lineage.buffer.folder import fill, opened
from tests.lineage.proxy.running import running, wait_until_sent
from tests.lineage.samples import numbered, run_event, sender_and_number

IMPATIENT = ClientOptions(read_seconds=0.2)
GOOD = json.dumps(run_event()).encode()
BAD = json.dumps(run_event(eventType="DONE")).encode()


def test_an_outage_holds_no_sender_and_no_other_backend(
    tmp_path: Path, validator: Validator
) -> None:
    with backend() as target, backend(lambda event: "503") as broken:
        transports = HttpTransport(target.url), HttpTransport(broken.url)
        with running(tmp_path, validator, *transports) as one:
            events = [numbered(0, number) for number in range(30)]
            assert {one.post(event) for event in events} == {200}
            assert target.wait_for(30) == events
            broken.wait_until_asked(3)
            assert one.metric("retries") >= 2
            assert one.proxy.buffer.lag(broken.url) == 30
            broken.manner = takes
            assert broken.wait_for(30) == events


def test_a_moody_backend_gets_all_in_order(tmp_path: Path, validator: Validator) -> None:
    with (
        backend(moody(3, 0.5)) as target,
        running(tmp_path, validator, HttpTransport(target.url, options=IMPATIENT)) as one,
    ):
        for number in range(60):
            assert one.post(numbered(0, number)) == 200
        wait_until_sent(one, 60)
        numbers = [sender_and_number(event)[1] for event in target.taken]
        assert list(dict.fromkeys(numbers)) == list(range(60))
        assert numbers == sorted(numbers)  # a double comes right behind


def test_a_restart_goes_on_where_it_was(tmp_path: Path, validator: Validator) -> None:
    with backend(lambda event: "503") as target:
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            for number in range(20):
                one.post(numbered(0, number))
        target.manner = takes
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            target.wait_for(20)
            wait_until_sent(one, 20)
        assert [sender_and_number(event)[1] for event in target.taken] == list(range(20))
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            assert one.metric("sent") == 20  # counted across restarts
            one.post(numbered(0, 20))
            target.wait_for(21)


def test_lanes_keep_the_order_of_a_run_and_pass_a_run_that_is_stuck(
    tmp_path: Path, validator: Validator
) -> None:
    def manner(event: bytes) -> Manner:
        return "500" if stuck.is_set() and sender_and_number(event)[0] == 0 else "takes"

    stuck = threading.Event()
    stuck.set()
    with backend(manner) as target:
        transport = HttpTransport(target.url, lanes=4)
        with running(tmp_path, validator, transport, order="run") as one:
            for number in range(20):
                for sender in range(3):
                    assert one.post(numbered(sender, number)) == 200
            target.wait_for(40)
            assert one.proxy.buffer.checkpoint(target.url) == 0  # the head is still there
            stuck.clear()
            target.wait_for(60)
            wait_until_sent(one, 60)
        for sender in range(3):
            numbers = [n for s, n in map(sender_and_number, target.taken) if s == sender]
            assert numbers == list(range(20))


def test_what_a_backend_refuses_is_a_dead_letter_that_can_be_sent_again(
    tmp_path: Path, validator: Validator
) -> None:
    def manner(event: bytes) -> Manner:
        return "400" if refusing.is_set() and sender_and_number(event)[1] % 3 == 0 else "takes"

    refusing = threading.Event()
    refusing.set()
    with (
        backend(manner) as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        for number in range(9):
            one.post(numbered(0, number))
        wait_until_sent(one, 9)
        state = one.proxy.buffer.state
        letters = dead.letters(state)
        assert [(letter.sequence, letter.status) for letter in letters] == [
            (1, 400),
            (4, 400),
            (7, 400),
        ]
        assert "because" in letters[0].reason
        assert letters[0].event == numbered(0, 0)
        assert one.metric("dead") == 3
        asked = len(target.asked)
        assert dead.revive(state, None, [1]) == 1
        target.wait_until_asked(asked + 1)  # refused again
        refusing.clear()
        assert dead.revive(state, target.url, None) == 3
        target.wait_for(9)
        for _ in range(500):
            if not dead.letters(state):
                break
            threading.Event().wait(0.02)
        assert dead.letters(state) == []


def test_an_event_that_gets_500_for_ever_can_be_skipped(
    tmp_path: Path, validator: Validator
) -> None:
    def manner(event: bytes) -> Manner:
        return "500" if sender_and_number(event)[1] == 1 else "takes"

    with (
        backend(manner) as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        for number in range(3):
            one.post(numbered(0, number))
        target.wait_until_asked(4)
        assert one.metric("head_age_seconds") > 0
        dead.skip(one.proxy.buffer.state, target.url, 2)
        assert target.wait_for(2) == [numbered(0, 0), numbered(0, 2)]
        wait_until_sent(one, 3)
        (letter,) = dead.letters(one.proxy.buffer.state)
        assert (letter.sequence, letter.reason) == (2, dead.SKIPPED)


def test_the_event_that_is_stuck_is_the_head_that_skip_finds(
    tmp_path: Path, validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However rarely checkpoints are saved while all goes well."""
    monkeypatch.setattr("singerlake.lineage.proxy.consumer.SAVE_SECONDS", 3600.0)

    def manner(event: bytes) -> Manner:
        return "500" if sender_and_number(event)[1] == 3 else "takes"

    with (
        backend(lambda event: "503") as target,
        running(tmp_path, validator, HttpTransport(target.url)) as one,
    ):
        for number in range(5):
            one.post(numbered(0, number))
        target.manner = manner
        target.wait_for(3)
        target.wait_until_asked(len(target.asked) + 2)
        (found,) = survey(tmp_path).destinations
        assert found.head is not None
        assert (found.head.sequence, found.sent, found.events) == (4, 3, 2)


def test_a_stop_ends_while_a_backend_hangs(
    tmp_path: Path, validator: Validator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("singerlake.lineage.proxy.proxy.STOP_SECONDS", 0.5)
    with backend(lambda event: "hangs") as target:
        with running(tmp_path, validator, HttpTransport(target.url)) as one:
            one.post(GOOD)
            target.wait_until_asked(1)
        target.manner = takes
        with running(tmp_path, validator, HttpTransport(target.url)):
            assert target.wait_for(1) == [GOOD]


class Held:
    """A transport that takes nothing until it is let go, then everything."""

    name, batch = "held", 1

    def __init__(self, lanes: int) -> None:
        self.lanes = lanes
        self.sending, self.let_go = threading.Event(), threading.Event()
        self.taken: list[bytes] = []

    def send(self, events: Sequence[bytes]) -> Answer:
        self.sending.set()
        assert self.let_go.wait(60)
        self.taken += events
        return Answer(len(events))

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("order", "lanes"), [("global", 1), ("run", 4)])
def test_what_is_dropped_behind_an_event_on_its_way_stays_counted(
    order: Order, lanes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sent and dropped are exact, whatever a limit took between two events that were sent."""
    monkeypatch.setattr("singerlake.lineage.proxy.consumer.READ", 3)
    monkeypatch.setattr("singerlake.lineage.proxy.consumer.SAVE_SECONDS", 1.0)
    monkeypatch.setattr("singerlake.lineage.proxy.consumer.Lanes", partial(Lanes, 3))
    limits = Limits(partition_bytes=30_000, retention_bytes=60_000, free_bytes=0)
    transport = Held(lanes)
    with opened(tmp_path, transport.name, limits=limits) as buffer:
        fill(buffer, 150)
        consumer = Consumer(buffer, transport, order)
        try:
            assert transport.sending.wait(60)
            buffer.keep([])
            before = buffer.state.counters()["dropped", transport.name]
            assert before > 10
            transport.let_go.set()
            for _ in range(3000):
                if not buffer.lag(transport.name):
                    break
                threading.Event().wait(0.02)
        finally:
            consumer.stop()
            assert consumer.join(60)
        counted = buffer.state.counters()
        sent, dropped = (counted[name, transport.name] for name in ("sent", "dropped"))
        assert sent == len(transport.taken)
        assert sent + dropped == 150


class Fails:
    """A transport with a fault of its own."""

    name, batch = "fails", 1

    def __init__(self, lanes: int) -> None:
        self.lanes, self.calls = lanes, 0

    def send(self, events: object) -> Answer:
        self.calls += 1
        if self.calls < 3:
            raise KeyError("a fault")
        return Answer(1)

    def close(self) -> None:
        """Nothing is open."""


@pytest.mark.parametrize(("order", "lanes"), [("global", 1), ("run", 2)])
def test_a_fault_of_a_transport_does_not_end_its_consumer(
    order: Order,
    lanes: int,
    tmp_path: Path,
    validator: Validator,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor a lane of it: what comes after the event would wait for ever."""
    monkeypatch.setattr("singerlake.lineage.proxy.consumer.PAUSE_SECONDS", 0.01)
    with running(tmp_path, validator, Fails(lanes), order=order) as one:
        one.post(GOOD)
        wait_until_sent(one, 1)
