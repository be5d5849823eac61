"""Mending a tap's run log from the documents of its runs, beside runs that end meanwhile."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import msgspec

from singerlake.errors import (
    AlreadyExists,
    Changed,
    CommitConflict,
    CorruptDocument,
    NotFound,
    OutcomeUnknown,
)
from singerlake.format import run_log
from singerlake.format.run import RunDocument
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import Row, RunLog
from singerlake.lake.lock import LockTimes
from singerlake.lake.runs import documents
from singerlake.lake.runs import log as logs
from singerlake.lake.runs.change import change
from singerlake.lake.runs.check import whole
from singerlake.lake.runs.ending import DEFAULT_TIMES, append
from singerlake.lake.runs.log import Head
from singerlake.store import Promise, Store

ATTEMPTS = 10


@dataclass(frozen=True)
class Mended:
    """What was done to a log: rows that it has now, rows that were added, whether all rows were
    numbered anew, and what is wrong with documents that were left out."""

    rows: int
    added: int = 0
    renumbered: bool = False
    skipped: tuple[str, ...] = ()


def complete(store: Store, keys: RunKeys, times: LockTimes = DEFAULT_TIMES) -> Mended:
    """Add a row for every document that has none, or that the last row of its run contradicts.

    Raises `CorruptDocument` where the log cannot be read.
    """
    head = logs.read_or_new(store, keys)
    rows, _ = whole(store, keys, head.log)
    newest = {row.identity: row for row in rows}
    runs, skipped = _in_order(store, keys)
    missing = [run for run in runs if not _is_told(newest.get(run.identity), run)]
    if missing:
        head = append(store, keys, head, missing, times)
    return Mended(head.log.last_number, len(missing), skipped=skipped)


def _is_told(row: Row | None, run: RunDocument) -> bool:
    return row is not None and row.agrees(run)


def _in_order(store: Store, keys: RunKeys) -> tuple[list[RunDocument], tuple[str, ...]]:
    """The readable documents by the end of their runs, and what is wrong with the others."""
    found = [one for _, one in documents.read_each(store, keys, documents.names(store, keys))]
    runs = [one for one in found if isinstance(one, RunDocument)]
    wrong = tuple(str(one) for one in found if isinstance(one, CorruptDocument))
    return sorted(runs, key=lambda run: (run.ended, run.name)), wrong


def rebuild(store: Store, keys: RunKeys, times: LockTimes = DEFAULT_TIMES) -> Mended:
    """Make the log again from the documents.

    A log that can be read, and has the document of every row, keeps its id and its numbers, and
    gets the rows that are missing. Any other is made anew, under a new id: rows of runs whose
    documents are gone are gone then, and no document is ever made from a row.
    """
    for _ in range(ATTEMPTS):
        try:
            rows, _ = whole(store, keys, logs.read_head(store, keys).log)
            there = set(documents.names(store, keys))
            if all(row.document in there for row in rows):
                return complete(store, keys, times)
        except NotFound:
            if not any(documents.names(store, keys)):
                return Mended(0)
        except CorruptDocument:
            pass  # made anew below
        made = _made_anew(store, keys)
        if made is not None:
            return made
    raise CommitConflict(
        f"{store.url}/{keys.log}: runs changed it {ATTEMPTS} times while it was made again; stop "
        "them, then run `singerlake rebuild` again"
    )


def _made_anew(store: Store, keys: RunKeys) -> Mended | None:
    """Put a new log in place; None where the old log changed meanwhile, and nothing was done."""
    try:
        version: str | None = store.read(keys.log).version
    except NotFound:
        version = None
    # After the version was read: a document whose row is in a later version is among them, or
    # the put is refused.
    runs, skipped = _in_order(store, keys)
    log, _ = logs.seal(store, keys, run_log.append(logs.new(keys), runs, logs.new_commit_id()))
    listed = _segments(store, keys)
    data = run_log.encode(log)
    try:
        if version is None:
            store.create(keys.log, data)
        else:
            store.replace(keys.log, data, version)
    except (AlreadyExists, Changed, OutcomeUnknown):
        if not _is_in_place(store, keys, log):
            return None
    _remove(store, keys, listed, log)
    return Mended(log.last_number, log.last_number, renumbered=True, skipped=skipped)


def _is_in_place(store: Store, keys: RunKeys, log: RunLog) -> bool:
    """Whether our put was applied, and only its answer was lost."""
    try:
        return logs.read_head(store, keys).log.log_id == log.log_id
    except (NotFound, CorruptDocument):
        return False


def remove_orphan_segments(store: Store, keys: RunKeys, times: LockTimes = DEFAULT_TIMES) -> int:
    """Delete segments that no log names; returns how many.

    The log is put anew between the listing and the deletion: a run that had made a segment by
    then can no longer have it named.
    """
    listed = _segments(store, keys)
    try:
        head = logs.read_head(store, keys)
    except NotFound:
        return 0  # a run may be about to write the first log
    before = head.version

    def touch(now: Head) -> RunLog | None:
        if now.version != before:
            return None
        return msgspec.structs.replace(now.log, commit_id=logs.new_commit_id())

    return _remove(store, keys, listed, change(store, keys, head, touch, times).log)


def _segments(store: Store, keys: RunKeys) -> list[str]:
    return [row.key for row in store.list(keys.under("_segments"))]


def _remove(store: Store, keys: RunKeys, listed: Iterable[str], log: RunLog) -> int:
    if store.promise() is not Promise.CONDITIONAL:
        return 0  # a put may yet arrive that names one
    named = {keys.under(path) for path in logs.segment_paths(store, keys, log)}
    unnamed = [key for key in listed if key not in named]
    for key in unnamed:
        store.delete(key)
    return len(unnamed)
