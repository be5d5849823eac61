"""Which commits the runs of a DAG read, whatever becomes of the runs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.airflow.ranges import MOST_RUNS, Range, Ranges
from singerlake.errors import ConfigError
from singerlake.lake import Bookmark


def place(number: int) -> Bookmark:
    return Bookmark("log", number)


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=60))
def test_every_commit_is_in_one_run_that_succeeded(runs: list[tuple[int, bool]]) -> None:
    """The ranges of runs that succeeded tile the log, as far as the last of them has read."""
    ranges, end, done = Ranges(), 0, set[str]()
    read: list[tuple[int, int]] = []
    for number, (commits, succeeds) in enumerate(runs):
        end += commits
        since = ranges.since(done.__contains__)
        new = Range(str(number), since, place(end))
        ranges = Ranges.parse(ranges.add(new).to_json())
        assert ranges.of(str(number)) == new
        if succeeds:
            done.add(str(number))
            read.append((0 if since is None else since.sequence, end))
    assert [first for first, _ in read] == [0, *(last for _, last in read)][: len(read)]
    assert len(ranges.runs) <= MOST_RUNS


def test_a_run_that_is_deleted_does_not_take_the_others_along() -> None:
    ranges = Ranges().add(Range("a", None, place(5))).add(Range("b", place(5), place(7)))
    assert ranges.since(lambda run: False) == place(5)
    assert ranges.since(lambda run: run == "a") == place(5)
    assert ranges.since(lambda run: run == "b") == place(7)


@pytest.mark.parametrize("value", ["text", {"runs": [1]}, {"base": 7}])
def test_what_is_no_state_of_ours_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="delete it"):
        Ranges.parse(value)
