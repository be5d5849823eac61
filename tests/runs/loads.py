"""Full tables as a tap sends them, and what the lake says of each load."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from singerlake.lake import Run, open_lake
from singerlake.lake.extent import Extent, covered
from tests.target.driving import TAP_ID, record, schema, state

QUICK = {"max_file_records": 3, "commit_interval_seconds": 0.05}
"""Settings that commit in the middle of a load."""


def load(first: int) -> list[str]:
    """Twenty lines: `orders` whole, then `hits` whole. Every load has rows of its own.

    The STATE between the two streams has no `currently_syncing`: as taps of the Singer SDK have it.
    """
    orders = [record("orders", first + number) for number in range(8)]
    hits = [record("hits", first + number) for number in range(5)]
    syncing = state({"bookmarks": {}, "currently_syncing": "orders"})
    between = state({"bookmarks": {"orders": {}}})
    more = state({"bookmarks": {"orders": {}}, "currently_syncing": "hits"})
    done = state({"bookmarks": {"orders": {}, "hits": {}}})
    lines = [schema("orders"), *orders[:4], syncing, *orders[4:], between]
    lines += [schema("hits"), *hits[:2], more, *hits[2:], more, done]
    assert len(lines) == MOMENTS
    return lines


MOMENTS = 20
BETWEEN = 11
"""After so many lines a tap that dies looks as if it had finished."""


def looks_complete(sent: Sequence[str]) -> bool:
    """What a target can see: the last line is a STATE, and it has no `currently_syncing`."""
    return bool(sent) and '"STATE"' in sent[-1] and "currently_syncing" not in sent[-1]


def runs_of(root: Path) -> list[Run]:
    return open_lake(root).tap(TAP_ID).runs(open=True)


def rows_of(root: Path, stream: str) -> list[int]:
    """The rows of a full table as they are now: those of its newest complete run."""
    snapshot = open_lake(root).stream(TAP_ID, stream).snapshot()
    found = covered(snapshot, Extent(runs="last"))
    rows = [int(record["id"]) for record in snapshot.records(found.selection)]
    assert found.run is not None
    assert len(rows) == found.run.streams[stream].records
    return rows
