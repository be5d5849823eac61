"""Replay by run and as of a moment: also after a vacuum, and from a bookmark."""

from __future__ import annotations

from typing import Any

import pytest

from singerlake.errors import ConfigError, StaleBookmark
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store, open_store
from tests.lake.landing import KEYS, TAP, land
from tests.lake.merging import OPTIONS, purge_at_once
from tests.lake.running import Running, land_run
from tests.tap.replay import Output, new_root
from tests.tap.replay import replay as run_tap

pytestmark = pytest.mark.usefixtures("door")


@pytest.fixture(params=["as committed", "merged"])
def lake(request: pytest.FixtureRequest) -> tuple[str, Store]:
    """Two runs beside each other, of which one is complete, behind an older one."""
    root = new_root()
    store = open_store(root)
    land_run(store, "first", [0], [1])
    one, two = Running(store, "one"), Running(store, "two")
    for number in range(2, 8, 2):
        one.commit([number])
        two.commit([number + 1])
    two.end("failed")
    one.end()
    if request.param == "merged":
        vacuum(store, KEYS, OPTIONS)
        purge_at_once(store)
    return root, store


def replay(root: str, state: Any = None, **settings: Any) -> Output:
    return run_tap({"lake_root": root, "tap_id": TAP, **settings}, state=state)


def test_the_runs_that_are_asked_for(lake: tuple[str, Store]) -> None:
    root, _ = lake
    assert replay(root, runs="last").numbers() == [2, 4, 6]
    assert replay(root, runs=["last"]).numbers() == [2, 4, 6], "as the environment has it"
    assert replay(root, runs=["two"]).numbers() == [3, 5, 7]
    assert replay(root, runs="last", run_outcomes=["failed"]).numbers() == [3, 5, 7]
    assert replay(root, as_of="first").numbers() == [0, 1]
    assert replay(root, as_of="4").numbers() == [0, 1, 2, 3]
    assert replay(root, as_of="run:first", runs="last").numbers() == [0, 1]
    assert replay(root, runs=["all"]).numbers() == list(range(8))


def test_from_a_bookmark_each_run_comes_once(lake: tuple[str, Store]) -> None:
    root, store = lake
    first = replay(root, runs="last")
    assert replay(root, first.state, runs="last").numbers() == []
    late = Running(store, "late")
    late.commit([20])
    land_run(store, "later", [30], [31])
    second = replay(root, first.state, runs="last")
    assert second.numbers() == [30, 31]
    late.end()  # it began before that one, and is the last now
    assert replay(root, second.state, runs="last").numbers() == [20]


def test_a_bookmark_as_of_a_moment_goes_on_from_there(lake: tuple[str, Store]) -> None:
    root, _ = lake
    then = replay(root, as_of="4")
    assert replay(root, then.state).numbers() == [4, 5, 6, 7]


def test_a_bookmark_among_the_commits_of_a_run_means_nothing_to_others(
    lake: tuple[str, Store],
) -> None:
    root, _ = lake
    state = replay(root, runs="last").state
    with pytest.raises(StaleBookmark, match="among the commits of the runs one"):
        replay(root, state)


def test_what_cannot_be_is_refused(lake: tuple[str, Store]) -> None:
    root, _ = lake
    with pytest.raises(ConfigError, match="stand alone"):
        replay(root, runs=["last", "one"])
    with pytest.raises(ConfigError, match="no run 'none'"):
        replay(root, runs="none")


def test_as_of_a_number_there_are_no_versions_that_came_later(lake: tuple[str, Store]) -> None:
    root, store = lake
    land(store, [9], version=2)
    for asked in ("merged", "latest"):
        (schema,) = replay(root, schema_versions=asked, as_of="4").of("SCHEMA")
        assert set(schema["schema"]["properties"]) == {"id", "added_in_1"}
    (schema,) = replay(root, schema_versions="merged").of("SCHEMA")
    assert set(schema["schema"]["properties"]) == {"id", "added_in_1", "added_in_2"}
    assert replay(root, schema_versions="latest", as_of="4").numbers() == [0, 1, 2, 3]
