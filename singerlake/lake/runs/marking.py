"""Correcting by hand how a run ended."""

from __future__ import annotations

import uuid

import msgspec

from singerlake.errors import Changed, CommitConflict, OutcomeUnknown
from singerlake.format import run as runs
from singerlake.format.run import Mark, Outcome, RunDocument
from singerlake.format.run_keys import RunKeys
from singerlake.lake import clock
from singerlake.lake.lock import LockTimes
from singerlake.lake.patience import Patience
from singerlake.lake.runs import documents
from singerlake.lake.runs import log as logs
from singerlake.lake.runs.ending import DEFAULT_TIMES, append
from singerlake.store import Store


def mark(
    store: Store,
    tap_id: str,
    document: str,
    outcome: Outcome,
    *,
    by: str,
    reason: str = "",
    times: LockTimes = DEFAULT_TIMES,
) -> RunDocument:
    """Have the run's document, and then a new row of the log, say this outcome.

    The document first: a rebuild makes the log from it. A crash in between leaves a row that says
    something else, which `check --fix` mends. Raises `NotFound` where there is no such document.
    """
    keys = RunKeys(tap_id)
    changed = _document(store, keys, document, outcome, by, reason, times)
    head = logs.read_or_new(store, keys)
    rows = [row for row in logs.rows(store, keys, head.log) if row.identity == changed.identity]
    if not rows or not rows[-1].agrees(changed):
        append(store, keys, head, [changed], times)
    return changed


def _document(
    store: Store,
    keys: RunKeys,
    name: str,
    outcome: Outcome,
    by: str,
    reason: str,
    times: LockTimes,
) -> RunDocument:
    """The document with the outcome, changed where it has another."""
    unique, patience = uuid.uuid4().hex, Patience(times.max_wait)
    while True:
        run, version = documents.read(store, keys, name)
        if run.outcome == outcome or (run.mark is not None and run.mark.id == unique):
            return run
        changed = msgspec.structs.replace(
            run,
            outcome=outcome,
            reason=reason or "marked by hand",
            mark=Mark(id=unique, by=by, at=clock.now(), before=run.outcome, reason=reason),
        )
        try:
            store.replace(keys.under(name), runs.encode(changed), version)
        except (Changed, OutcomeUnknown):
            if not patience.pause():
                raise CommitConflict(
                    f"{store.url}/{keys.under(name)}: others changed it each time for "
                    f"{patience.waited():.0f} s; try again"
                ) from None
        else:
            return changed
