"""Random histories of a lake that is projected: what is published is what the log has.

The rows are a stand-in's; what is published, and whether, is for the product to decide.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from unittest import mock

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import rule

from singerlake.errors import StaleBookmark
from singerlake.lake.feed import position
from singerlake.spark import projection_plan
from tests.faults import projection
from tests.faults.misfortune import Misfortune
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.test_histories import STEPS, run
from tests.faults.truth import Truth, Violation
from tests.lake.landing import KEYS

SUITE, TEST = "Projecting", "tests/faults/test_projection_histories.py"
EXAMPLES = scaled(15, 300)


class Projected(Misfortune):
    """The same lake; a projection follows it, and is made anew once it refuses to go on."""

    patched = projection.SPARK

    @rule(times=st.integers(1, 2))
    def project(self, times: int) -> None:
        for _ in range(times):
            try:
                projection.project(self.store)
            except StaleBookmark:
                projection.project(self.store, full=True)
            projection.require_once(self.store, Truth())


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_is_published_is_what_the_log_has() -> None:
    what = "histories of a lake that is moved, rebuilt and put back"
    line = Line(SUITE, what, TEST, bounds=f"up to {STEPS} steps")

    class Counted(Projected):
        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.counted["faults"]
            super().teardown()

    run(Counted, EXAMPLES)
    line.keep()


@contextlib.contextmanager
def no_look_at_the_place() -> Iterator[None]:
    """A projection that goes on from a number, whatever log and file it was of."""
    blind = mock.Mock(wraps=position, require=mock.Mock())
    with (
        mock.patch.object(projection, "position", blind),
        mock.patch.object(projection_plan, "position", blind),
    ):
        yield


def kind_of_violation() -> str:
    """Of a history in which a manifest of before is put back, and the log grows past its end."""
    history = Projected()
    try:
        older = history.store.read(KEYS.manifest).data
        history.a_fresh_commit_succeeds()
        history.project(times=1)
        history.store.delete(KEYS.manifest)
        history.store.create(KEYS.manifest, older)
        for _ in range(2):
            history.a_fresh_commit_succeeds()
        history.project(times=1)
    except Violation as violation:
        return violation.kind
    finally:
        history.teardown()
    return ""


def test_a_projection_that_goes_on_from_any_number_is_seen() -> None:
    line = Line(SUITE, "control: no look at the place", TEST)
    assert kind_of_violation() == ""
    with no_look_at_the_place():
        line.control(kind_of_violation() == "LOST")
