"""Reading by run, and as of a moment: before and after a vacuum, beside other writers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.errors import ConfigError, MissingManifest
from singerlake.format.manifest import File
from singerlake.lake import Lake, Selection, check, clock, markers, rebuild
from singerlake.lake.extent import Extent, committed_until, covered, parse_as_of
from singerlake.lake.snapshot import Snapshot
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from tests.format.test_merge import ROW
from tests.lake.landing import EPOCH, KEYS, STREAM, TAP, land, new_store, overwrite
from tests.lake.merging import OPTIONS, purge_at_once
from tests.lake.running import Running, land_run
from tests.lake.test_provenance import forget

HOUR = timedelta(hours=1)


def snapshot(store: Store) -> Snapshot:
    return Lake(store).stream(TAP, STREAM).snapshot()


def read(store: Store, extent: Extent) -> list[int]:
    found = snapshot(store)
    selection = covered(found, extent).selection
    return [record["id"] for record in found.records(selection)]


def last(store: Store, **more: object) -> list[int]:
    return read(store, Extent(runs="last", **more))  # type: ignore[arg-type]


def untouched(store: Store) -> None:
    """Nothing happens to the lake."""


def tidied(store: Store) -> None:
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)


def rebuilt(store: Store) -> None:
    tidied(store)
    rebuild(store)


def renumbered(store: Store) -> None:
    tidied(store)
    store.delete(KEYS.manifest)
    rebuild(store)


AFTER = pytest.mark.parametrize("after", [untouched, tidied, rebuilt, renumbered])


@AFTER
def test_the_last_run_is_the_newest_that_is_complete(after: Callable[[Store], None]) -> None:
    store = new_store()
    land_run(store, "one", [1, 2], [3])
    land_run(store, "two", [4], [5, 6])
    land_run(store, "three", [7], outcome="ended")
    land_run(store, "four", [8], outcome=None)
    after(store)
    assert last(store) == [4, 5, 6]
    assert last(store, outcomes=("complete", "ended")) == [7]
    assert last(store, outcomes=("complete", "lost", "open")) == [8]
    assert read(store, Extent(runs=("one",))) == [1, 2, 3]
    assert read(store, Extent(runs=("three", "one"))) == [1, 2, 3, 7]


@AFTER
def test_a_run_is_read_without_those_beside_it(after: Callable[[Store], None]) -> None:
    store = new_store()
    one, two = Running(store, "same id"), Running(store, "same id")
    for number in range(0, 12, 2):
        one.commit([number])
        two.commit([number + 1])
    two.end("failed")
    one.end("complete")
    land_run(store, "later", [20], outcome="ended")
    after(store)
    assert last(store) == [0, 2, 4, 6, 8, 10]
    assert read(store, Extent(runs=("same id",))) == list(range(12))


def test_a_complete_run_without_a_record_is_an_empty_table() -> None:
    store = new_store()
    land_run(store, "one", [1, 2])
    land_run(store, "two")
    assert last(store) == []
    assert read(store, Extent()) == [1, 2]


def test_files_that_were_adopted_are_their_runs_whatever_numbers_they_have_now() -> None:
    store = new_store()
    land_run(store, "one", [1, 2], [3])
    older = store.read(KEYS.manifest).data
    land_run(store, "two", [4], [5])
    store.replace(KEYS.manifest, older, store.read(KEYS.manifest).version)
    markers.settle(store, TAP, {KEYS.stream: None})  # by an older program, that has none
    land_run(store, "three", [9], outcome="ended")
    check(store, fix=True)
    assert [row.run_id for row in snapshot(store).commits()][2:] == ["three", "two", "two"]
    assert last(store) == [4, 5]


def test_a_run_that_was_not_sent_the_stream_leaves_it_alone() -> None:
    store = new_store()
    land_run(store, "one", [1, 2])
    other = Running(store, "two", "customers")
    other.commit([9])
    other.end()
    assert last(store) == [1, 2]
    assert read(store, Extent(runs=("two",))) == []


def test_without_a_complete_run_there_is_an_error_that_says_what_to_do() -> None:
    store = new_store()
    land(store, [1])
    with pytest.raises(ConfigError, match=r"expected a run that is complete, .* there is none"):
        last(store)
    land_run(store, "one", [2], outcome="ended")
    with pytest.raises(ConfigError, match=r"the newest is one \(ended\).*complete_without_state"):
        last(store)
    with pytest.raises(ConfigError, match="no run 'none'"):
        read(store, Extent(runs=("none",)))


@pytest.fixture
def clocks(monkeypatch: pytest.MonkeyPatch) -> list[datetime]:
    """The next times that the lake's clock shows; then it goes on by itself."""
    times: list[datetime] = []
    shown = [EPOCH]

    def now() -> datetime:
        shown[0] = times.pop(0) if times else shown[0] + timedelta(microseconds=1)
        return shown[0]

    monkeypatch.setattr(clock, "now", now)
    return times


@AFTER
def test_as_of_a_time_and_a_run(after: Callable[[Store], None], clocks: list[datetime]) -> None:
    store = new_store()
    ends = []
    for number in range(6):
        clocks.append(EPOCH + number * HOUR)
        land_run(store, f"run-{number}", [2 * number], [2 * number + 1])
        ends.append(clock.now())
    after(store)
    for number in range(6):
        assert read(store, Extent(as_of=f"run-{number}")) == list(range(2 * number + 2))
        wanted = [2 * number, 2 * number + 1]
        assert last(store, as_of=f"run-{number}") == wanted
        if after is not renumbered:
            assert read(store, Extent(as_of=ends[number])) == list(range(2 * number + 2))
            assert last(store, as_of=ends[number]) == wanted
    assert read(store, Extent(as_of=5)) == [0, 1, 2, 3, 4]
    assert last(store, as_of=5) == [2, 3]


@pytest.mark.parametrize("lost", ["the log", "its end"])
def test_as_of_a_number_that_is_within_a_run_the_run_has_not_ended(lost: str) -> None:
    """Also where the numbers are not those that the run had: half of a table is no table."""
    store = new_store()
    land_run(store, "one", [1], [2])
    older = store.read(KEYS.manifest).data
    land_run(store, "two", [3], [4])
    if lost == "the log":
        store.delete(KEYS.manifest)
        store.delete(KEYS.manifest_copy)
    else:
        overwrite(store, KEYS.manifest, older)
    rebuild(store)
    with pytest.raises(ConfigError, match="expected a run that is complete"):
        last(store, as_of=1)
    assert [last(store, as_of=number) for number in (2, 3, 4)] == [[1, 2], [1, 2], [3, 4]]
    tidied(store)
    assert [last(store, as_of=number) for number in (2, 3, 4)] == [[1, 2], [1, 2], [3, 4]]


def test_as_of_a_run_that_was_not_sent_the_stream_is_as_of_its_end(clocks: list[datetime]) -> None:
    store = new_store()
    land_run(store, "one", [1])
    other = Running(store, "other", "customers")
    other.commit([9])
    other.end()
    land_run(store, "two", [2])
    assert read(store, Extent(as_of="other")) == [1]
    assert last(store, as_of="other") == [1]


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 2)), min_size=1, max_size=12),
    st.integers(-1, 7),
    st.booleans(),
)
def test_as_of_a_time_is_the_longest_beginning_without_a_later_commit(
    commits: list[tuple[int, int]], hour: int, merged: bool
) -> None:
    """Whatever the clocks of three writers show; and a vacuum changes nothing."""
    store = new_store()
    runs = [Running(store, f"run-{number}") for number in range(3)]
    times = []
    with pytest.MonkeyPatch.context() as patch:
        for number, (shown, who) in enumerate(commits):
            patch.setattr(clock, "now", lambda shown=shown: EPOCH + shown * HOUR)
            runs[who].commit([number])
            times.append(EPOCH + shown * HOUR)
    moment = EPOCH + hour * HOUR
    wanted = next((n for n, time in enumerate(times) if time > moment), len(times))
    if merged:
        tidied(store)
    assert committed_until(snapshot(store), moment) == wanted
    assert read(store, Extent(as_of=moment)) == list(range(wanted))


def test_a_time_that_an_older_vacuum_forgot_is_an_error_not_a_guess(
    clocks: list[datetime],
) -> None:
    store = new_store()
    for number in range(3):
        clocks.append(EPOCH + (number + 1) * HOUR)
        land_run(store, f"run-{number}", [number])
    vacuum(store, KEYS, OPTIONS)
    forget(store)
    land_run(store, "new", [3])
    with pytest.raises(ConfigError, match="commit time of the sequence numbers 1 to 3"):
        read(store, Extent(as_of=EPOCH + 2 * HOUR))
    assert read(store, Extent(as_of=EPOCH - HOUR)) == []
    assert read(store, Extent(as_of=EPOCH + 30 * HOUR)) == [0, 1, 2, 3]
    with pytest.raises(ConfigError, match="run of the sequence numbers 1 to 3"):
        read(store, Extent(runs=("run-1",)))
    assert last(store) == [3]


def test_a_listing_knows_no_runs() -> None:
    store = new_store()
    land_run(store, "one", [1])
    store.delete(KEYS.manifest)
    for extent in (Extent(runs="last"), Extent(as_of=1)):
        with pytest.raises(MissingManifest, match="singerlake rebuild"):
            read(store, extent)


@pytest.mark.parametrize(
    ("text", "parsed"),
    [
        ("12", 12),
        ("2026-11-16", datetime(2026, 11, 16, tzinfo=timezone.utc)),
        ("2026-11-16T03:00:00Z", datetime(2026, 11, 16, 3, tzinfo=timezone.utc)),
        ("2026-11-16T03:00:00+01:00", datetime(2026, 11, 16, 2, tzinfo=timezone.utc)),
        ("01a1e2c4-8f5a-7c31-9a51-6a3a4b1c2d3e", "01a1e2c4-8f5a-7c31-9a51-6a3a4b1c2d3e"),
        ("run:12", "run:12"),
        ("pin:12", "pin:12"),
        ("manual", "manual"),
    ],
)
def test_what_people_write(text: str, parsed: object) -> None:
    assert parse_as_of(text) == parsed


@given(
    st.lists(st.integers(1, 30), unique=True),
    st.integers(0, 31),
    st.one_of(st.none(), st.integers(0, 31)),
    st.integers(1, 30),
    st.integers(0, 9),
)
def test_a_selection_of_ranges_is_one_of_numbers(
    chosen: list[int], since: int, until: int | None, lowest: int, more: int
) -> None:
    ranges: list[tuple[int, int]] = []
    for number in sorted(chosen):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    selection = Selection(since=since, until=until, numbers=tuple(ranges))
    wanted = {n for n in chosen if n > since and (until is None or n <= until)}
    assert {n for n in range(40) if selection.holds(n)} == wanted
    file = _row(lowest, lowest + more)
    bears = set(range(lowest, lowest + more + 1))
    if bears & wanted:
        assert selection.may_hold(file)
    assert selection.holds_all_of(file) == (bears <= wanted)


def _row(lowest: int, highest: int) -> File:
    return msgspec.structs.replace(ROW, first_sequence=lowest, sequence=highest)
