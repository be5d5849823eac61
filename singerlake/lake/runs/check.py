"""Checking a tap's runs: every document, every row, and whether both say the same."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format.run import RunDocument
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import Row, RunLog
from singerlake.lake.finding import Finding, Level
from singerlake.lake.inventory import RunInventory
from singerlake.lake.runs import documents
from singerlake.lake.runs import log as logs
from singerlake.store import Store


def check_runs(store: Store, found: RunInventory) -> list[Finding]:
    """What is wrong with a tap's runs, as they were listed."""
    keys = RunKeys(found.tap_id)
    there, findings = _read(store, keys, found.documents)
    try:
        log = logs.read_head(store, keys).log
        rows, named = whole(store, keys, log)
    except NotFound:
        return findings + list(_without_log(keys, found))
    except CorruptDocument as error:
        return [*findings, Finding(Level.ERROR, "run-log-corrupt", keys.log, str(error), True)]
    findings += _of_rows(store, keys, rows, there, set(found.documents))
    findings += _orphan_segments(keys, found.segments, named)
    return findings


def whole(store: Store, keys: RunKeys, log: RunLog) -> tuple[list[Row], set[str]]:
    """All rows of the log, and the paths of its segments.

    Raises `CorruptDocument` where a segment is gone or wrong, or the numbers have a hole.
    """
    rows = list(logs.rows(store, keys, log))
    if [row.number for row in rows] != list(range(1, log.last_number + 1)):
        raise CorruptDocument(
            f"{store.url}/{keys.log}: expected rows numbered from 1 to {log.last_number}, found "
            f"{len(rows)} rows with other numbers; `singerlake rebuild` makes the log again from "
            "the documents of the runs"
        )
    return rows, set(logs.segment_paths(store, keys, log))


def _read(
    store: Store, keys: RunKeys, names: Iterable[str]
) -> tuple[dict[str, RunDocument], list[Finding]]:
    """The documents that can be read, by name, and what is wrong with the others."""
    there, findings = {}, []
    for name, found in documents.read_each(store, keys, names):
        if isinstance(found, RunDocument):
            there[name] = found
        else:
            wrong = Finding(Level.ERROR, "run-corrupt", keys.under(name), str(found))
            findings.append(wrong)
    return there, findings


def _without_log(keys: RunKeys, found: RunInventory) -> Iterator[Finding]:
    if found.documents:
        message = (
            f"missing, and there are documents of {len(found.documents)} runs: the first run died "
            "before it wrote the log, or the log was lost"
        )
        yield Finding(Level.LEFTOVER, "run-log-missing", keys.log, message, fixable=True)
    yield from _orphan_segments(keys, found.segments, set())


def _of_rows(
    store: Store,
    keys: RunKeys,
    rows: Iterable[Row],
    there: dict[str, RunDocument],
    listed: set[str],
) -> Iterator[Finding]:
    newest = {row.document: row for row in rows}
    for name, row in newest.items():
        key = keys.under(name)
        if name in there:
            if not row.agrees(there[name]):
                message = f"its row, number {row.number} of the log, says something else"
                yield Finding(Level.LEFTOVER, "run-differs", key, message, fixable=True)
        elif name not in listed and not _exists(store, keys, name):
            message = (
                f"missing, and row {row.number} of the log names it; `singerlake rebuild` makes a "
                "log without it"
            )
            yield Finding(Level.ERROR, "run-missing", key, message)
    for name in sorted(there.keys() - newest.keys()):
        message = "no row of the run log names it: its run died, or is ending now"
        yield Finding(Level.LEFTOVER, "run-unlogged", keys.under(name), message, fixable=True)


def _exists(store: Store, keys: RunKeys, name: str) -> bool:
    """Whether a document is there that was written after the listing."""
    try:
        store.version(keys.under(name))
    except NotFound:
        return False
    return True


def _orphan_segments(keys: RunKeys, segments: Iterable[str], named: set[str]) -> Iterator[Finding]:
    for path in segments:
        if path not in named:
            message = "a segment that no run log names"
            key = keys.under(path)
            yield Finding(Level.LEFTOVER, "orphan-segment", key, message, fixable=True)
