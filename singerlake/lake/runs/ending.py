"""The end of a run: its document, then its row in the tap's log. Two PUTs, whatever the run did."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import msgspec

from singerlake.errors import SingerlakeError
from singerlake.format import run, run_log
from singerlake.format.run import Outcome, RunDocument, RunStream
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import RunLog
from singerlake.lake import clock
from singerlake.lake.lock import LockTimes
from singerlake.lake.runs import documents, surroundings
from singerlake.lake.runs import log as logs
from singerlake.lake.runs.change import change
from singerlake.lake.runs.log import Head
from singerlake.store import Store

if TYPE_CHECKING:
    from singerlake.lake.markers import Known

logger = logging.getLogger(__name__)

DEFAULT_TIMES = LockTimes()
LONGEST_REASON = 500


def document_of(
    ids: tuple[str, str, str],
    begun: datetime,
    outcome: Outcome,
    streams: Mapping[str, tuple[RunStream, bool | None]],
    reason: str = "",
    exit_code: int | None = None,
    **versions: str,
) -> RunDocument:
    """The document of a run that ends now, in this process.

    `ids` are those of the tap, the run and the writer. Each stream comes with what was landed in
    it, and whether the last STATE holds a bookmark of it.
    """
    tap_id, run_id, writer_id = ids
    return run.new(
        tap_id=tap_id,
        run_id=run_id,
        writer_id=writer_id,
        begun=begun,
        ended=max(begun, clock.now()),
        outcome=outcome,
        reason=reason[:LONGEST_REASON],
        exit_code=exit_code,
        versions=surroundings.versions(**versions),
        environment=surroundings.ids(),
        traceparent=surroundings.traceparent(),
        streams={
            name: msgspec.structs.replace(landed, bookmark=bookmark)
            for name, (landed, bookmark) in streams.items()
        },
    )


def end(
    store: Store,
    ended: RunDocument,
    times: LockTimes = DEFAULT_TIMES,
    known: Known | None = None,
) -> None:
    """Write a run's document, and add its row to the log, with rows that crashes left out; then
    move the markers of its streams.

    The document is what counts: where only the row or a marker fails, that is a warning, because
    the next run of the tap adds it. `known` is what the run knows of the tap's documents, which
    spares requests.
    """
    from singerlake.format.marker import Marker  # who reads runs needs none of it
    from singerlake.lake import markers

    keys, head = RunKeys(ended.tap_id), None
    with _warning(store, keys):
        # Before the document is there: then nobody can have added its row yet.
        head = logs.read_or_new(store, keys)
    documents.create(store, keys, ended)
    if head is not None:
        with _warning(store, keys):
            left_out = set(documents.unlogged(store, keys, head.log)) - {ended.name}
            others = documents.read_all(store, keys, sorted(left_out))
            append(store, keys, head, [*others, ended], times)
    reached = {
        name: Marker(stream.log_id, stream.last_sequence)
        for name, stream in ended.streams.items()
        if stream.log_id and stream.last_sequence
    }
    markers.advance(store, ended.tap_id, reached, known)


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
