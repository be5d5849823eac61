"""The columns of a commit, and rows by run: the same before and after a vacuum."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake.decode.request import StreamRequest
from singerlake.decode.stream import read, take
from singerlake.lake import Lake
from singerlake.lake.extent import Extent, covered
from singerlake.lake.log import EVERYTHING, Selection
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from tests.lake.landing import KEYS, STREAM, TAP, new_store
from tests.lake.merging import OPTIONS, purge_at_once
from tests.lake.running import Running, land_run
from tests.lake.test_provenance import forget

METADATA = ("_sequence", "_run_id", "_committed", "_position")


def rows_of(
    store: Store, selection: Selection = EVERYTHING, metadata: tuple[str, ...] = METADATA
) -> list[dict[str, Any]]:
    request = StreamRequest(TAP, STREAM, ("id",), metadata=metadata, selection=selection)
    return [row for batch in read(take(store, request), request) for row in batch.to_pylist()]


@settings(deadline=None, max_examples=30)
@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=10),
    st.integers(0, 2),
)
def test_each_row_keeps_its_commit_and_a_run_its_rows(
    commits: list[tuple[int, int]], asked: int
) -> None:
    store, number, runs_of = new_store(), 0, {}
    runs = [Running(store, f"run-{each}") for each in range(3)]
    for who, count in commits:
        numbers = range(number, number + count)
        runs[who].commit(numbers)
        runs_of |= dict.fromkeys(numbers, f"run-{who}")
        number += count
    for run in runs:
        run.end()
    before = rows_of(store, metadata=METADATA[:-1])
    assert [row["_run_id"] for row in before] == list(runs_of.values())
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    assert [row["_committed"] for row in before] == [
        row.committed for row in snapshot.commits() for _ in range(row.records)
    ]
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)
    assert rows_of(store, metadata=METADATA[:-1]) == before
    whole = {row["id"]: row for row in rows_of(store)}
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    selection = covered(snapshot, Extent(runs=(f"run-{asked}",))).selection
    found = rows_of(store, selection)
    assert [row["id"] for row in found] == [
        n for n, run in runs_of.items() if run == f"run-{asked}"
    ]
    assert all(row == whole[row["id"]] for row in found), "also the position in the file"


def test_what_an_older_vacuum_forgot_is_null() -> None:
    store = new_store()
    land_run(store, "old", [0], [1])
    vacuum(store, KEYS, OPTIONS)
    forget(store)
    land_run(store, "new", [2])
    assert [row["_run_id"] for row in rows_of(store)] == [None, None, "new"]
    vacuum(store, KEYS, OPTIONS)
    rows = rows_of(store)
    assert [row["_run_id"] for row in rows] == [None, None, "new"]
    assert [row["_committed"] is None for row in rows] == [True, True, False]
    assert [row["_sequence"] for row in rows] == [1, 2, 3]


def test_a_listing_knows_no_commits() -> None:
    store = new_store()
    land_run(store, "one", [0])
    store.delete(KEYS.manifest)
    [row] = rows_of(store)
    assert (row["_run_id"], row["_committed"]) == (None, None)
