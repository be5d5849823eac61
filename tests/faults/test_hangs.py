"""Requests that really hang: the store's own time limit ends them, and they may arrive later."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

import pytest

from singerlake.errors import DamageError, SingerlakeError
from singerlake.lake import check
from singerlake.store import Retrying, RetryPolicy, Store
from singerlake.store.time_limited import TimeLimited
from tests.faults import variant
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Truth
from tests.lake.faulty_store import Intercepting
from tests.lake.landing import QUICK, codes, land, land_each, new_store, numbers_in

SUITE = "Hangs"
LIMIT = 0.05

Result = TypeVar("Result")


class Hanging(Intercepting):
    """Its N-th request hangs until it is let go, before or after it was done."""

    def __init__(self, inner: Store, at: int, after: bool) -> None:
        super().__init__(inner)
        self._at, self._after, self._requests = at, after, 0
        self._let_go = threading.Event()
        self._ended = threading.Event()
        self.struck = False

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        self._requests += 1
        if self._requests != self._at:
            return call()
        self.struck = True
        try:
            if not self._after:
                self._let_go.wait()
                return call()
            result = call()
            self._let_go.wait()
            return result
        finally:
            self._ended.set()

    def let_go(self) -> None:
        self._let_go.set()
        if self.struck:
            assert self._ended.wait(60)


@pytest.mark.slow
@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("attempts", [1, 3])
def test_a_request_that_hangs_loses_and_doubles_nothing(attempts: int, after: bool) -> None:
    """With retries the commit succeeds; without, it may fail, and is made again."""
    line = Line(
        SUITE,
        f"{'after' if after else 'before'} the request was done, {attempts} attempts",
        "tests/faults/test_hangs.py",
    )
    at, struck = 0, True
    while struck:
        at += scaled(2, 1)
        struck, replays = hang(at, after, attempts)
        line.replays += replays
        line.runs += 1
        line.faults += struck
    assert line.faults > 3
    line.keep()


def hang(at: int, after: bool, attempts: int) -> tuple[bool, int]:
    """Whether a request hung, and how many records are there twice, for being sent again."""
    store, truth = new_store(), Truth()
    land(store, [0])
    truth.send([0, 1, 2])
    truth.acknowledge([0, 1, 2])
    hanging = Hanging(store, at, after)
    limited = Retrying(TimeLimited(hanging, LIMIT), RetryPolicy(attempts), sleep=lambda _: None)
    try:
        land_each(limited, [1, 2], times=QUICK)
    except DamageError as error:
        raise AssertionError(str(error)) from error
    except SingerlakeError:
        assert attempts == 1
        truth.send([1, 2])
        land_each(store, [1, 2], times=QUICK)
    hanging.let_go()
    truth.require(numbers_in(store))
    assert set(codes(check(store, fix=True, times=QUICK))) <= {"orphan-file", "stale-lock"}
    assert check(store, times=QUICK).clean
    return hanging.struck, truth.require(numbers_in(store))


CONTROLS = {
    variant.success_for_a_lost_answer: (False, "an older manifest was put in its place"),
    variant.conflict_for_a_lost_answer: (True, "TWICE"),
}
"""Whether the request is done before it hangs, and what is said of that; at first by the writer."""


@pytest.mark.parametrize("broken", CONTROLS, ids=lambda broken: broken.__name__)
def test_control_a_broken_variant_is_seen(broken: variant.Broken) -> None:
    after, wanted = CONTROLS[broken]
    line = Line(
        SUITE, f"control: {broken.__name__.replace('_', ' ')}", "tests/faults/test_hangs.py"
    )
    struck, seen = True, ""
    with broken():
        while struck and wanted not in seen:
            line.runs += 1
            try:
                struck, _ = hang(line.runs, after, attempts=1)
            except AssertionError as error:
                seen = str(error)
    line.control(wanted in seen, seen)
