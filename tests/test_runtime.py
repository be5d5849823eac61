"""Threads that share some work."""

from __future__ import annotations

import threading

import pytest

from singerlake import runtime
from singerlake.runtime import REAL


@pytest.mark.parametrize("count", [0, 1, 2, 100])
@pytest.mark.parametrize("workers", [1, 2, 32])
def test_results_are_in_the_order_of_the_items(count: int, workers: int) -> None:
    assert REAL.map(str, range(count), workers) == [str(number) for number in range(count)]


def test_work_that_waits_gets_as_many_threads_as_were_asked_for() -> None:
    together = threading.Barrier(4, timeout=60)
    REAL.map(lambda _: together.wait(), range(8), 4)


def test_work_that_does_not_wait_is_done_by_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime, "ALONE_SECONDS", 60)
    threads = REAL.map(lambda _: threading.current_thread(), range(100), 32)
    assert set(threads) == {threading.current_thread()}


@pytest.mark.parametrize("alone", [0, 60])
def test_an_error_comes_out_of_whatever_thread_meets_it(
    monkeypatch: pytest.MonkeyPatch, alone: float
) -> None:
    monkeypatch.setattr(runtime, "ALONE_SECONDS", alone)

    def work(number: int) -> int:
        if number == 50:
            raise ValueError(number)
        return number

    with pytest.raises(ValueError, match="50"):
        REAL.map(work, range(100), 8)
