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
    first: dict[tuple[str, str], int] = {}
    told: set[tuple[str, str]] = set()
    for row in logs.newest_rows(store, keys, head.log):
        if limit is not None and len(told) >= limit:
            break
        newest.setdefault(row.identity, row)  # the last row of a run counts
        first[row.identity] = row.number
        if row.mark is None:  # a correction may be of a run that is much older
            told.add(row.identity)
    found = in_order(of_row(tap_id, row, first[known]) for known, row in newest.items())
    return found if limit is None else found[-limit:]


def with_unended(
    store: Store, tap_id: str, limit: int | None = None, lost_after: timedelta = LOST_AFTER
) -> list[Run]:
    """The logged runs, those whose row a crash left out, and those that have no document."""
    keys = RunKeys(tap_id)
    head = logs.read_or_new(store, keys)
    names = documents.unlogged(store, keys, head.log)
    unlogged = [of_row(tap_id, row_of(run, 0)) for run in documents.read_all(store, keys, names)]
    newest = logged(store, tap_id, limit)
    # Only where older runs are left out: else all commits count, also those before the first run
    # that has ended, for theirs may be at work still.
    is_cut = limit is not None and len(newest) >= limit
    known = {run.identity: run for run in (*unlogged, *newest)}
    rest = unended.find(store, tap_id, known.values(), lost_after, since_known=is_cut)
    runs = in_order((*known.values(), *rest))
    if limit is not None and any(not run.document for run in runs[-limit:]):
        # Commits of older runs, which the log knows beyond the limit, are not of unended ones.
        logged_before = {row.identity for row in logs.rows(store, keys, head.log)}
        runs = [run for run in runs if run.document or run.identity not in logged_before]
    return runs if limit is None else runs[-limit:]


def in_order(runs: Iterable[Run]) -> list[Run]:
    """The newest last, for people: by the time at which they ended, by their own clocks."""
    return sorted(runs, key=lambda run: (run.ended, run.number))


def newest_complete(runs: Iterable[Run], stream: str) -> Run | None:
    """The newest complete run that was sent this stream, see `of_stream`."""
    chosen = [run for run in of_stream(runs, stream) if run.outcome == "complete"]
    return chosen[-1] if chosen else None


def of_stream(runs: Iterable[Run], stream: str) -> list[Run]:
    """The runs that were sent this stream, the newest last: in the order of the log, where no
    clock counts, but for rows that came late."""
    sent = [run for run in runs if stream in run.streams]
    sent.sort(key=lambda run: (not run.first_number, run.first_number, run.ended))
    ordered: list[Run] = []
    highest = 0
    for run in sent:
        left = run.streams[stream]
        later = (at for at, other in enumerate(ordered) if _is_before(run, other, stream))
        is_in_order = left.last_sequence > highest or not left.last_sequence
        ordered.insert(len(ordered) if is_in_order else next(later, len(ordered)), run)
        highest = max(highest, left.first_sequence)
    return ordered


def _is_before(run: Run, other: Run, stream: str) -> bool:
    """Whether a run whose row came later than that of the other is older all the same.

    All its commits were before those of the other, and it was not at work when the other ended.
    """
    left, others = run.streams[stream], other.streams[stream]
    return (
        left.log_id == others.log_id
        and left.last_sequence < others.first_sequence
        and not run.begun < other.ended <= run.ended
    )
