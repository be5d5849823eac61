"""Kills of the lineage proxy under load: nothing that was acknowledged is lost or out of order."""

from __future__ import annotations

import http.client
import random
import threading
import time
from collections import defaultdict
from pathlib import Path

import pytest

from singerlake.lineage.buffer.check import check
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.lineage.backend import Backend, backend, moody, takes
from tests.lineage.process import Process
from tests.lineage.samples import numbered, sender_and_number

MODULE = "tests/faults/test_lineage_kills.py"
SENDERS = 6
OPTIONS = ("--partition-bytes", "60000", "--failed", "log")
IMPATIENT = (*OPTIONS, "--send-seconds", "0.3")
"""A backend that hangs must not take up the whole life of a process."""


class Sender:
    """Sends its events one after the other, each until it is acknowledged."""

    def __init__(self, number: int, seed: int) -> None:
        self._number, self._chance = number, random.Random(f"{seed} {number}")
        self.acknowledged: list[int] = []
        self._next = 0

    def send_while(self, process: Process, going: threading.Event) -> None:
        connection = process.connection()
        while going.is_set():
            body = numbered(self._number, self._next, self._chance.randrange(3000))
            try:
                connection.request("POST", "/api/v1/lineage", body)
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException):
                return  # killed: the same event is sent again to the next process
            if answer.status == 200:
                self.acknowledged.append(self._next)
                self._next += 1


def life(folder: Path, target: Backend, senders: list[Sender], seconds: float, order: str) -> None:
    process = Process(folder, [target.url], *IMPATIENT, "--order", order)
    going = threading.Event()
    going.set()
    threads = [
        threading.Thread(target=one.send_while, args=(process, going), daemon=True)
        for one in senders
    ]
    for thread in threads:
        thread.start()
    time.sleep(seconds)  # the moment of the kill, at random: nothing is waited for
    process.kill()
    going.clear()
    for thread in threads:
        thread.join()


def order_of(taken: list[bytes]) -> dict[int, list[int]]:
    """By sender: the events in the order in which each came for the first time."""
    first: dict[int, list[int]] = defaultdict(list)
    seen = set()
    for event in taken:
        sender, number = sender_and_number(event)
        if (sender, number) not in seen:
            seen.add((sender, number))
            first[sender].append(number)
    return first


def violations(senders: list[Sender], taken: list[bytes]) -> list[str]:
    first = order_of(taken)
    found = []
    for number, sender in enumerate(senders):
        lost = set(sender.acknowledged) - set(first[number])
        found += [f"sender {number}: event {one} is lost" for one in sorted(lost)]
        if first[number] != sorted(first[number]):
            found.append(f"sender {number}: out of order: {first[number]}")
    return found


@pytest.mark.slow
@pytest.mark.timeout(scaled(300, 3600))
@pytest.mark.parametrize("order", ["global", "run"])
def test_kills_under_load_lose_nothing(order: str, tmp_path: Path) -> None:
    """The backend refuses, hangs, resets, answers 429, 500 and 503, and loses answers."""
    kills = scaled(4, 100 if order == "global" else 30)
    line = Line("Lineage proxy", f"kill -9 under load, order {order}", MODULE)
    chance, senders = random.Random(order), [Sender(n, 1) for n in range(SENDERS)]
    folder = tmp_path / "buffer"
    with backend(moody(7)) as target:
        for number in range(kills):
            if number % 4 == 1:
                target.refuse()
            life(folder, target, senders, chance.uniform(0.05, 1.0), order)
            if number % 4 == 1:
                target.listen()
        target.manner = takes
        process = Process(folder, [target.url], *OPTIONS, "--order", order)
        acknowledged = sum(len(sender.acknowledged) for sender in senders)
        drained(process)
        assert process.stop() == 0
        taken = list(target.taken)
    found = violations(senders, taken)
    line.runs, line.faults, line.violations = acknowledged, kills, len(found)
    line.replays = len(taken) - sum(map(len, order_of(taken).values()))
    line.bounds = f"{SENDERS} senders"
    line.keep()
    assert acknowledged > kills
    assert found == []
    assert [one for one in check(folder).findings if "invalid" not in one.file] == []


def drained(process: Process) -> None:
    """However long it takes, as long as it goes on."""
    least, since = float("inf"), time.monotonic()
    # In this order: before the first look at the buffer every number is 0.
    while not process.metric("partitions"):
        assert time.monotonic() - since < 60, "the proxy never looked at its buffer"
        time.sleep(0.05)
    while lag := process.metric("lag_events"):
        if lag < least:
            least, since = lag, time.monotonic()
        assert time.monotonic() - since < 60, f"{lag} events are not sent"
        time.sleep(0.2)


def test_the_checks_see_what_is_lost_or_out_of_order() -> None:
    senders = [Sender(0, 1), Sender(1, 1)]
    senders[0].acknowledged, senders[1].acknowledged = [0, 1, 2], [0, 1]
    good = [numbered(0, 0), numbered(1, 0), numbered(0, 1), numbered(1, 1), numbered(0, 2)]
    assert violations(senders, good) == []
    assert violations(senders, [*good, good[0]]) == []  # a double is none
    line = Line("Lineage proxy", "control: lost and out of order", MODULE)
    line.control(bool(violations(senders, good[:-1])), "lost")
    line.control(bool(violations(senders, good[::-1])), "out of order")
