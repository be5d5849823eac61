"""The end of a run: its document, then its row in the tap's log. Two PUTs, whatever the run did."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from singerlake.errors import SingerlakeError
from singerlake.format import run_log
from singerlake.format.run import RunDocument
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import RunLog
from singerlake.lake.lock import LockTimes
from singerlake.lake.runs import documents
from singerlake.lake.runs import log as logs
from singerlake.lake.runs.change import change
from singerlake.lake.runs.log import Head
from singerlake.store import Store

logger = logging.getLogger(__name__)

DEFAULT_TIMES = LockTimes()


def end(store: Store, run: RunDocument, times: LockTimes = DEFAULT_TIMES) -> None:
    """Write a run's document, and add its row to the log, with rows that crashes left out.

    The document is what counts: where only the row fails, that is a warning, because the next run
    of the tap adds it.
    """
    keys, head = RunKeys(run.tap_id), None
    with _warning(store, keys):
        # Before the document is there: then nobody can have added its row yet.
        head = logs.read_or_new(store, keys)
    documents.create(store, keys, run)
    if head is not None:
        with _warning(store, keys):
            left_out = set(documents.unlogged(store, keys, head.log)) - {run.name}
            others = documents.read_all(store, keys, sorted(left_out))
            append(store, keys, head, [*others, run], times)


@contextmanager
def _warning(store: Store, keys: RunKeys) -> Iterator[None]:
    try:
        yield
    except SingerlakeError as error:
        logger.warning(
            "The run has its document, but no row in %s/%s (%s); the next run of the tap adds the "
            "row, and so does `singerlake check --fix`",
            store.url,
            keys.log,
            error,
        )


def append(
    store: Store,
    keys: RunKeys,
    head: Head,
    runs: Iterable[RunDocument],
    times: LockTimes = DEFAULT_TIMES,
) -> Head:
    """Add rows for runs that have none in `head`, each once, whatever the store answers.

    A run is known by its run id and its writer id, a correction also by the id of its mark. Other
    processes may add the row as well: they can only have done so behind `head`.
    """
    wanted = {(run.identity, run.mark and run.mark.id): run for run in runs}
    before = head.log

    def update(now: Head) -> RunLog | None:
        after = before.last_number if now.log.log_id == before.log_id else 0
        rows = logs.rows(store, keys, now.log, after)
        there = {(row.identity, row.mark and row.mark.id) for row in rows}
        missing = [run for known, run in wanted.items() if known not in there]
        return run_log.append(now.log, missing, logs.new_commit_id()) if missing else None

    return change(store, keys, head, update, times)
