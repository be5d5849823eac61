"""What happened: a tap's runs, by their log, and by what the log does not name."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from singerlake.errors import NotFound
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import Row, row_of
from singerlake.lake.runs import documents, unended
from singerlake.lake.runs import log as logs
from singerlake.lake.runs.run import LOST_AFTER, Run, of_row
from singerlake.store import Store


def logged(store: Store, tap_id: str, limit: int | None = None) -> list[Run]:
    """The runs that the tap's log has, the newest last; `limit` takes only the newest.

    Without a limit this reads every segment of the log; with a limit, only what it needs.
    """
    keys = RunKeys(tap_id)
    try:
        head = logs.read_head(store, keys)
    except NotFound:
        return []
    newest: dict[tuple[str, str], Row] = {}
    for row in logs.newest_rows(store, keys, head.log):
        if limit is not None and len(newest) >= limit:
            break
        newest.setdefault(row.identity, row)  # the last row of a run counts
    return in_order(of_row(tap_id, row) for row in newest.values())


def with_unended(
    store: Store, tap_id: str, limit: int | None = None, lost_after: timedelta = LOST_AFTER
) -> list[Run]:
    """The logged runs, those whose row a crash left out, and those that have no document."""
    keys = RunKeys(tap_id)
    head = logs.read_or_new(store, keys)
    names = documents.unlogged(store, keys, head.log)
    unlogged = [of_row(tap_id, row_of(run, 0)) for run in documents.read_all(store, keys, names)]
    known = {run.identity: run for run in (*unlogged, *logged(store, tap_id, limit))}
    rest = unended.find(store, tap_id, known.values(), lost_after, since_known=limit is not None)
    runs = in_order((*known.values(), *rest))
    return runs if limit is None else runs[-limit:]


def in_order(runs: Iterable[Run]) -> list[Run]:
    """The newest last: by the time at which they ended."""
    return sorted(runs, key=lambda run: (run.ended, run.number))


def newest_complete(runs: Iterable[Run], stream: str) -> Run | None:
    """The newest complete run that was sent this stream, of runs in the order of `Tap.runs`."""
    chosen = [run for run in runs if run.outcome == "complete" and stream in run.streams]
    return chosen[-1] if chosen else None
