"""Which commits the runs of a DAG read, whatever becomes of the runs."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.airflow.commits.ranges import MOST_RUNS, SINCE, Range, Ranges, given_since
from singerlake.errors import ConfigError
from singerlake.lake import Bookmark


def place(number: int) -> Bookmark:
    return Bookmark("log", number)


class Hasty(Ranges, frozen=True):
    """A control: it goes on from the last run, whatever became of it."""

    def since(self, has_succeeded: Callable[[str], bool]) -> Bookmark | None:
        return self.runs[-1].until if self.runs else None


def read_by(kind: type[Ranges], runs: list[tuple[int, bool]]) -> list[tuple[int, int]]:
    """What the runs that succeed read, of so many commits before each run."""
    ranges, end, done = kind(), 0, set[str]()
    read: list[tuple[int, int]] = []
    for number, (commits, succeeds) in enumerate(runs):
        end += commits
        since = ranges.since(done.__contains__)
        new = Range(str(number), since, place(end))
        kept = msgspec.convert(ranges.add(new).to_json(), kind)
        assert kept.of(str(number)) == new
        assert len(kept.runs) <= MOST_RUNS
        if succeeds:
            done.add(str(number))
            read.append((0 if since is None else since.sequence, end))
        ranges = kept
    return read


def is_tiled(read: list[tuple[int, int]]) -> bool:
    return [first for first, _ in read] == [0, *(last for _, last in read)][: len(read)]


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=60))
def test_every_commit_is_in_one_run_that_succeeded(runs: list[tuple[int, bool]]) -> None:
    """The ranges of runs that succeeded tile the log, as far as the last of them has read."""
    assert is_tiled(read_by(Ranges, runs))


def test_a_hasty_variant_is_seen_to_lose_commits() -> None:
    assert not is_tiled(read_by(Hasty, [(2, False), (1, True)]))


def test_a_run_that_is_deleted_does_not_take_the_others_along() -> None:
    ranges = Ranges().add(Range("a", None, place(5))).add(Range("b", place(5), place(7)))
    assert ranges.since(lambda run: False) == place(5)
    assert ranges.since(lambda run: run == "a") == place(5)
    assert ranges.since(lambda run: run == "b") == place(7)


@pytest.mark.parametrize("value", ["text", {"runs": [1]}, {"base": 7}])
def test_what_is_no_state_of_ours_is_refused(value: object) -> None:
    with pytest.raises(ConfigError, match="delete it"):
        Ranges.parse(value)


@pytest.mark.parametrize("conf", [None, {}, {"other": 1}])
def test_a_run_reads_from_where_the_last_has_ended(conf: dict[str, object] | None) -> None:
    assert given_since(conf) is None


def test_a_run_can_be_given_where_it_begins() -> None:
    assert [given_since({SINCE: number}) for number in (0, 7)] == [0, 7]
    for wrong in (-1, True, "0", 1.5):
        with pytest.raises(ConfigError, match="expected a sequence number"):
            given_since({SINCE: wrong})
