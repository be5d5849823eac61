"""Random histories of a lake and its index: what was followed is what a rebuild makes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
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
from tests.faults.feed_stage import EVERY
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
EXAMPLES = scaled(25, 400)
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


KEYS = EVERY[0]


def dies(history: IndexHistory) -> None:
    """At each step of a poll, one after the other."""
    for at in range(8):
        history.commit(keys=KEYS, commits=1)
        history.poll_and_die(seconds=60, at=at)
        history.drain()


def merges(history: IndexHistory) -> None:
    history.commit(keys=KEYS, commits=4)
    history.drain()
    history.vacuum(keys=KEYS, size=100_000, older=False)


def loses_a_file(history: IndexHistory) -> None:
    history.commit(keys=KEYS, commits=3)
    history.drain()
    history.lose_a_file_and_rebuild(keys=KEYS, which=1)


def is_numbered_anew(history: IndexHistory) -> None:
    history.commit(keys=KEYS, commits=3)
    history.drain()
    history.lose_a_document(keys=KEYS, which=0, spoil=False, mend=True)


def is_put_back(history: IndexHistory) -> None:
    history.commit(keys=KEYS, commits=4)
    history.drain()
    history.put_an_older_manifest_back(which=2, commits=3)


CONTROLS: dict[Broken, Callable[[IndexHistory], None]] = {
    bookmark_in_a_transaction_of_its_own: dies,
    replaced_ignored: merges,
    lost_ignored: loses_a_file,
    renumbered_ignored: is_numbered_anew,
    stale_bookmark_kept: is_put_back,
}
"""With the history that shows it. Random ones do too, after a minute."""


def violation(story: Callable[[IndexHistory], None]) -> str:
    """What a history ends in, "" where all is well."""
    history = IndexHistory()
    try:
        story(history)
        history.drain()
    except Violation as found:
        return found.kind
    finally:
        history.teardown()
    return ""


@pytest.mark.slow
def test_each_broken_index_is_seen() -> None:
    line = Line(SUITE, "controls", f"{TEST} -k broken")
    for broken, story in CONTROLS.items():
        assert violation(story) == "", story.__name__
        with broken():
            line.control(violation(story) != "", broken.__name__)
