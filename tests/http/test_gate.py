"""The gate and the workers: places are neither lost nor given twice, whoever leaves when."""

from __future__ import annotations

import asyncio
import random
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from singerlake.http.answer import Problem
from singerlake.http.gate import Gate
from singerlake.http.workers import Workers
from tests.http.echo import QUICK, served
from tests.http.wire import post

WORKING, WAITING = 3, 4


class Visit:
    """One who enters, stays until told, and leaves."""

    def __init__(self, gate: Gate) -> None:
        self.inside = self.refused = False
        self.done = asyncio.Event()
        self.task = asyncio.ensure_future(self._stay(gate))

    async def _stay(self, gate: Gate) -> None:
        try:
            await gate.enter()
        except Problem:
            self.refused = True
            return
        self.inside = True
        try:
            await self.done.wait()
        finally:
            self.inside = False
            gate.leave()

    @property
    def waits(self) -> bool:
        return not self.inside and not self.refused and not self.task.done()


async def _settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


async def visit(gate: Gate, seed: int, steps: int = 60) -> None:
    """Enter, end and cancel at random, several at a time; looks at the places after each."""
    chance, visits = random.Random(seed), list[Visit]()
    for _ in range(steps):
        for _ in range(chance.randrange(1, 4)):
            kind = chance.choice(["enter", "enter", "end", "cancel"])
            if kind == "enter" or not visits:
                visits.append(Visit(gate))
            elif kind == "end":
                chance.choice(visits).done.set()
            else:
                chance.choice(visits).task.cancel()
            if chance.random() < 0.5:
                await asyncio.sleep(0)
        await _settled()
        inside, waiting = (
            sum(one.inside for one in visits),
            sum(one.waits for one in visits),
        )
        assert inside <= WORKING
        assert waiting <= WAITING
        assert waiting == 0 or inside == WORKING, "somebody waits beside a free place"
        assert gate.waiting == waiting
        visits = [one for one in visits if not one.task.done()]
    for one in visits:
        one.done.set()
    await asyncio.gather(*(one.task for one in visits), return_exceptions=True)
    again = [Visit(gate) for _ in range(WORKING + WAITING + 1)]
    await _settled()
    assert [one.inside for one in again] == [True] * WORKING + [False] * (WAITING + 1)
    assert [one.refused for one in again] == [False] * (WORKING + WAITING) + [True]
    for one in again:
        one.task.cancel()
    await asyncio.gather(*(one.task for one in again), return_exceptions=True)


@pytest.mark.parametrize("seed", range(30))
def test_no_place_is_lost_or_given_twice(seed: int) -> None:
    asyncio.run(visit(Gate(WORKING, WAITING), seed))


class Forgetful(Gate):
    """Gives a place to one who has left, and forgets it."""

    def leave(self) -> None:
        if self._waiters:
            turn = self._waiters.popleft()
            if not turn.done():
                turn.set_result(None)
            return
        self._free += 1


def test_a_gate_that_loses_places_is_noticed() -> None:
    """The control."""

    def fails(seed: int) -> bool:
        try:
            asyncio.run(visit(Forgetful(WORKING, WAITING), seed))
        except (AssertionError, ValueError):
            return True
        return False

    assert any(fails(seed) for seed in range(60))


# Workers


def test_results_and_errors_come_back() -> None:
    async def run() -> None:
        workers = Workers(2)
        assert await asyncio.gather(*(workers.run(lambda n=n: n * n) for n in range(20))) == [
            number * number for number in range(20)
        ]
        with pytest.raises(KeyError):
            await workers.run(lambda: {}["missing"])
        with pytest.raises(RuntimeError, match="StopIteration"):
            await workers.run(lambda: next(iter(())))
        assert [one async for one in workers.iterate(iter("abc"))] == ["a", "b", "c"]

    asyncio.run(run())


def test_there_are_at_most_so_many_threads_and_who_leaves_does_not_wait() -> None:
    async def run() -> None:
        workers, release = Workers(2), threading.Event()
        inside: list[str] = []

        def block() -> None:
            inside.append(threading.current_thread().name)
            release.wait()

        tasks = [asyncio.ensure_future(workers.run(block)) for _ in range(6)]
        while len(inside) < 2:
            await asyncio.sleep(0.001)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        release.set()
        assert await workers.run(lambda: 7) == 7
        assert len(inside) == 2  # what had not begun is dropped

    asyncio.run(run())


def test_many_at_once_get_their_own_answers() -> None:
    with served(QUICK) as (url, _), ThreadPoolExecutor(8) as pool:
        sizes = [number * 37 % 5000 for number in range(300)]
        answers = pool.map(lambda size: post(url, "/", b"x" * size).json["size"], sizes)
        assert list(answers) == sizes
