"""Random histories against a reference: what no one thought of."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from singerlake.lake import Snapshot, alone, purging, retired
from tests.faults import variant
from tests.faults.history import History
from tests.faults.misfortune import Misfortune
from tests.faults.put_back import (
    PutBack,
    lines_that_come_back,
    lost_merges_are_gaps,
    merges_known_by_documents,
    noted_files_taken,
)
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Violation
from tests.faults.vanishing import Vanishing, mended_in_the_same_log, unmarked

SUITE = "Histories"
PARTS = scaled(1, 4)
EXAMPLES = scaled(60, 1_300)
STEPS = 30


def run(machine: type[History], examples: int, phases: Iterable[Phase] = tuple(Phase)) -> None:
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
def test_every_history_is_that_of_the_reference(part: int) -> None:
    line = Line(
        SUITE,
        f"writers, readers, vacuum, purge, rebuild, check, fix ({part + 1} of {PARTS})",
        "tests/faults/test_histories.py",
        bounds=f"up to {STEPS} steps",
    )

    class Counted(Misfortune):
        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.counted["faults"]
            super().teardown()

    run(Counted, EXAMPLES)
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_vanishes_is_seen() -> None:
    line = Line(
        SUITE,
        "the same, with deleted folders and older manifests put back",
        "tests/faults/test_histories.py -k vanishes",
        bounds=f"up to {STEPS} steps",
    )

    class Counted(Vanishing):
        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.counted["faults"]
            super().teardown()

    run(Counted, scaled(40, 300))
    for broken, kind in VANISHING.items():
        with pytest.raises(Violation) as seen, broken():
            run(Vanishing, 1000, [Phase.generate])
        line.control(seen.value.kind == kind, (broken.__name__, seen.value.kind))
    line.keep()


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_what_is_put_back_gives_nothing_twice() -> None:
    line = Line(
        SUITE,
        "the same, with all metadata of a backup put back, merged files lost, and jobs killed",
        "tests/faults/test_histories.py -k put_back",
        bounds=f"up to {STEPS} steps",
    )

    class Counted(PutBack):
        def teardown(self) -> None:
            line.runs += 1
            line.faults += self.counted["faults"]
            super().teardown()

    run(Counted, scaled(40, 300))
    for broken, kind in itertools.islice(PUT_BACK.items(), scaled(1, None)):
        with pytest.raises(Violation) as seen, broken():
            run(PutBack, 1000, [Phase.generate])
        line.control(seen.value.kind == kind, (broken.__name__, seen.value.kind))
    line.keep()


PUT_BACK: dict[variant.Broken, str] = {
    merges_known_by_documents: "REPEATED",
    noted_files_taken: "TWICE",
    lines_that_come_back: "REPEATED",
    lost_merges_are_gaps: "REPEATED",
}
VANISHING: dict[variant.Broken, str] = {unmarked: "UNSEEN", mended_in_the_same_log: "SKIPPED"}


def merges_forgotten() -> contextlib.AbstractContextManager[Any]:
    """A rebuild without a manifest takes a merged file, and the files it was made from too."""
    return mock.patch.object(retired, "by_listing", return_value=(set(), {}))


def merged_parts_ignored() -> contextlib.AbstractContextManager[Any]:
    """A reader that goes on within a merged file gets all of it."""
    return mock.patch.object(Snapshot, "lines", lambda self, file, *_: _lines(self, file))


_lines = Snapshot.lines


@contextlib.contextmanager
def names_compared_by_nothing() -> Iterator[None]:
    """A name is used again, and what has it is taken for the file that a merge replaced."""

    def very(
        store: Any, keys: Any, listed: Any, checksums: Any, returned: Any, merge: Any
    ) -> list[Any]:
        return list(merge.retired)

    with variant.names_used_again(), mock.patch.object(retired, "_very", very):
        yield


@contextlib.contextmanager
def merges_that_share_nothing() -> Iterator[None]:
    """A merge whose files are gone is adopted whole, whatever else has its lines."""
    with (
        mock.patch.object(alone, "of_merge", return_value=set()),
        mock.patch.object(retired, "of_merge", return_value=set()),
    ):
        yield


def clocks_believed() -> contextlib.AbstractContextManager[Any]:
    """A purge goes by its machine's clock, wherever it is set."""
    return mock.patch.object(purging, "AHEAD", timedelta(days=100))


CONTROLS: dict[variant.Broken, set[str]] = {
    # A purge may take the file of a commit, or a rebuild leave it out.
    names_compared_by_nothing: {"LOST", "TORN", "TWICE", "UNREADABLE"},
    # What it adopts is there twice; and a purge may take what only a merge of these had.
    merges_that_share_nothing: {"TWICE", "LOST", "UNREADABLE"},
    variant.conflict_for_a_lost_answer: {"TWICE"},
    # Its own next step may be the first to notice; or a fix, which adopts what was taken for there.
    variant.success_for_a_lost_answer: {"LOST", "BROKE", "TWICE"},
    variant.the_manifest_before_the_file: {"TORN"},
    merges_forgotten: {"TWICE"},
    merged_parts_ignored: {"TWICE"},
    clocks_believed: {"UNREADABLE"},
}
"""With what each shows as: not just any error."""


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_each_broken_variant_is_seen() -> None:
    line = Line(SUITE, "controls", "tests/faults/test_histories.py -k broken")
    for broken, kinds in itertools.islice(CONTROLS.items(), scaled(2, None)):
        began, seen = time.monotonic(), ""
        try:
            with broken():
                run(Misfortune, 1000, [Phase.generate])
        except Violation as violation:
            seen = violation.kind
        line.control(seen in kinds, (broken.__name__, seen))
        print(broken.__name__, "seen after", round(time.monotonic() - began, 1), "s")
