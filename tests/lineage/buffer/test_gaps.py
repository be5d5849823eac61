"""Gaps: every number is counted once, in whatever pieces and order its loss is met."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.lineage.buffer.disk.gaps import Gaps, ranges
from singerlake.lineage.buffer.disk.state import State

_range = st.tuples(st.integers(1, 40), st.integers(0, 10)).map(lambda one: (one[0], sum(one)))
_note = st.tuples(st.lists(_range, min_size=1, max_size=1), st.booleans())


@settings(max_examples=60, deadline=None)
@given(notes=st.lists(_note, max_size=8), asked=_range)
def test_gaps_are_sets_of_numbers(
    notes: list[tuple[list[tuple[int, int]], bool]], asked: tuple[int, int]
) -> None:
    known: set[int] = set()
    lost: set[int] = set()
    with tempfile.TemporaryDirectory() as folder:
        state = State(Path(folder) / "state.db")
        gaps = Gaps(state)
        for given_ranges, is_lost in notes:
            numbers = {n for first, last in given_ranges for n in range(first, last + 1)}
            assert gaps.note(given_ranges, is_lost, "why", 1) == len(numbers - known)
            lost |= numbers - known if is_lost else set()
            known |= numbers
        for one in (gaps, Gaps(state)):  # the same after a restart
            wanted = set(range(asked[0], asked[1] + 1))
            assert one.lost == len(lost)
            assert one.between(*asked) == len(wanted & known)
            assert one.covers(*asked) == (wanted <= known)
        state.close()


@given(st.sets(st.integers(1, 60)))
def test_ranges_hold_the_same_numbers(numbers: set[int]) -> None:
    found = ranges(sorted(numbers))
    assert {n for first, last in found for n in range(first, last + 1)} == numbers
    assert all(before[1] + 1 < after[0] for before, after in pairwise(found))
