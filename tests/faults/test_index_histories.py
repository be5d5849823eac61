"""Random histories of a lake and its index: what was followed is what a rebuild makes."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from singerlake.index import ingester as ingesters
from singerlake.index.application import Application
from singerlake.index.storage.base import Change
from singerlake.index.storage.relational import RelationalStorage
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.event import Event, Lost, Renumbered, Replaced
from tests.faults.index_history import IndexHistory
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Violation
from tests.faults.variant import Broken
from tests.index.dying import Dying
from tests.index.places import new_url, postgresql

__all__ = ["postgresql"]

SUITE, TEST = "Index", "tests/faults/test_index_histories.py"
PARTS = scaled(1, 4)
EXAMPLES = scaled(int(__import__("os").environ.get("N", "25")), 400)
ELSEWHERE = {"postgresql": scaled(8, 100), "dynamodb": scaled(3, 40)}
STEPS = 30


def run(machine: type[IndexHistory], examples: int, phases: Iterable[Phase] = tuple(Phase)) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_followed_index_is_what_a_rebuild_makes(part: int) -> None:
    line = Line(
        SUITE,
        f"commits, runs, vacuum, purge, rebuild, loss, deaths ({part + 1} of {PARTS})",
        TEST,
        bounds=f"up to {STEPS} steps",
    )

    class Counted(IndexHistory):
        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.kills
            super().teardown()

    run(Counted, EXAMPLES)
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["postgresql", "dynamodb"])
def test_so_it_is_in_other_databases(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    line = Line(SUITE, f"the same, {kind}", TEST, bounds=f"up to {STEPS} steps")

    class Elsewhere(IndexHistory):
        url = new_url(request, kind, tmp_path)

        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.kills
            super().teardown()

    run(Elsewhere, ELSEWHERE[kind], [Phase.generate])
    line.keep()


def bookmark_in_a_transaction_of_its_own() -> contextlib.AbstractContextManager[Any]:
    """Who dies between the two indexes the same commits again."""
    change = RelationalStorage.change

    @contextlib.contextmanager
    def apart(self: RelationalStorage, tap: str, stream: str = "") -> Iterator[Change]:
        kept: list[Bookmark] = []
        with change(self, tap, stream) as one:
            one.keep = kept.append  # type: ignore[method-assign]
            yield one
        Dying.newest.step()
        with change(self, tap, stream) as one:
            one.keep(kept[-1])

    return mock.patch.object(RelationalStorage, "change", apart)


def _without(kind: type[Event]) -> contextlib.AbstractContextManager[Any]:
    apply = Application.apply

    def partly(self: Application, event: Event) -> None:
        if isinstance(event, kind):
            self.bookmark = event.bookmark
        else:
            apply(self, event)

    return mock.patch.object(Application, "apply", partly)


def replaced_ignored() -> contextlib.AbstractContextManager[Any]:
    return _without(Replaced)


def lost_ignored() -> contextlib.AbstractContextManager[Any]:
    return _without(Lost)


def renumbered_ignored() -> contextlib.AbstractContextManager[Any]:
    return _without(Renumbered)


def stale_bookmark_kept() -> contextlib.AbstractContextManager[Any]:
    """An ingester that goes on from the number, whatever bears it now."""

    def keep(self: Any, change: Change, tap: str, stream: str, done: Any) -> None:
        change.keep(change.bookmark or Bookmark("", 0))

    return mock.patch.object(ingesters.Ingester, "_anew", keep)


CONTROLS: tuple[Broken, ...] = (
    bookmark_in_a_transaction_of_its_own,
    replaced_ignored,
    lost_ignored,
    renumbered_ignored,
    stale_bookmark_kept,
)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_broken_index_is_seen() -> None:
    line = Line(SUITE, "controls", f"{TEST} -k broken")
    for broken in CONTROLS:
        began, seen = time.monotonic(), False
        try:
            with broken():
                run(IndexHistory, 2000, [Phase.generate])
        except Violation:
            seen = True
        line.control(seen, broken.__name__)
        print(broken.__name__, "seen after", round(time.monotonic() - began, 1), "s")
