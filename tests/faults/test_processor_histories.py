"""Random histories of a lake and a processor's source: each commit once and in order, or a stop."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from singerlake.processor.engine.sqlite.engine import SqliteEngine
from singerlake.processor.engine.values import Item
from tests.faults.processor_history import Mortal, ProcessorHistory
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.test_feed_histories import no_look_at_the_bookmark
from tests.faults.truth import Violation
from tests.faults.variant import Broken

SUITE, TEST = "Processor", "tests/faults/test_processor_histories.py"
EXAMPLES = scaled(25, 600)
STEPS = 40


def run(machine: type[ProcessorHistory], examples: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_commit_is_handed_over_once_and_in_order() -> None:
    line = Line(
        SUITE,
        "a lake as source: commits, vacuum, purge, rebuild, loss, deaths",
        TEST,
        bounds=f"up to {STEPS} steps",
    )

    class Counted(ProcessorHistory):
        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.kills
            super().teardown()

    run(Counted, EXAMPLES)
    line.keep()


def a_place_before_its_events() -> contextlib.AbstractContextManager[Any]:
    """Who dies between the two goes on behind events that nobody has."""

    def apart(
        self: Mortal, name: str, key: str, before: str, after: str, items: Sequence[Item]
    ) -> str:
        self.step(False)
        found = SqliteEngine.hand_over(self, name, key, before, after, [])
        self.step(True)
        if found == after and items:
            self.append(key, items, 0.0)
        return found

    return mock.patch.object(Mortal, "hand_over", apart)


CONTROLS: dict[Broken, set[str]] = {
    # A source that goes on from a number, whichever file bears it now.
    no_look_at_the_bookmark: {"MISLED", "MISSED", "TWICE"},
    a_place_before_its_events: {"MISSED"},
}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "broken", [*CONTROLS][: scaled(1, None)], ids=lambda broken: broken.__name__
)
def test_each_broken_source_is_seen(broken: Broken) -> None:
    seen = ""
    try:
        with broken():
            run(ProcessorHistory, 1000)
    except Violation as violation:
        seen = violation.kind
    line = Line(SUITE, f"control: {broken.__name__.replace('_', ' ')}", TEST)
    line.control(seen in CONTROLS[broken], seen)
