"""Check: holds the lake against every promise of docs/spec.md."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format import lock_record
from singerlake.lake import evidence, inventory, log
from singerlake.lake import fix as mending
from singerlake.lake.blobs.check import check_blobs
from singerlake.lake.check_documents import check_catalogues, check_lake_document
from singerlake.lake.check_markers import check_markers
from singerlake.lake.check_pins import check_pins
from singerlake.lake.check_stream import Examine, check_stream, in_threads
from singerlake.lake.finding import CheckReport, Finding, Level
from singerlake.lake.inventory import Inventory
from singerlake.lake.lock import LockTimes
from singerlake.lake.parallel import Progress, Steps, no_progress
from singerlake.lake.runs.check import check_runs
from singerlake.store import Store, Stored

DEFAULT_TIMES = LockTimes()
_DOCUMENTS = frozenset(
    {
        "manifest-missing",
        "manifest-corrupt",
        "catalogue-missing",
        "catalogue-corrupt",
        "catalogue-stream",
        "catalogue-hash",
    }
)
"""Findings that files have to mend: where they cannot be read, they stay."""


def check(
    store: Store,
    tap_id: str | None = None,
    stream: str | None = None,
    *,
    fix: bool = False,
    times: LockTimes = DEFAULT_TIMES,
    progress: Progress = no_progress,
    examine: Examine = in_threads,
    deep: bool = False,
) -> CheckReport:
    """Check the lake, one tap of it, or one stream of a tap; `fix` mends what is fixable.

    `examine` reads the files: here, or on other machines. With `deep`, the bytes of files of any
    kind are read too, and hashed.

    Where there are lock files, takes at least `times.stale_after` seconds: only watching
    a lock for so long tells whether its writer is alive.
    """
    found = inventory.take_known(store, tap_id, stream)
    report = CheckReport()
    since = time.monotonic()
    locks = _locks(store, found)
    steps = Steps(progress, found.file_count())
    places = evidence.with_markers(store, found.tap_ids())
    examinations = chain.from_iterable(
        check_stream(store, one, report, places.get((one.keys.tap_id, one.keys.stream), []))
        for one in found.streams.values()
    )
    for findings in examine(store, examinations):
        steps.step()
        report.findings += findings
    for one in found.streams.values():
        report.findings += check_blobs(store, one, deep=deep)
    for of_tap in found.runs.values():
        report.findings += check_runs(store, of_tap)
    report.findings += check_pins(store, found.pins)
    told = {(one.code, one.key) for one in report.findings}
    vanished = check_markers(store, found, tap_id, stream)
    report.findings += [one for one in vanished if (one.code, one.key) not in told]
    if stream is None:
        report.findings += check_catalogues(store, found)
        report.findings += check_lake_document(store, found)
    stale = _still_the_same(store, locks, since + times.stale_after)
    report.findings += _lock_findings(locks, stale, times)
    for key in found.foreign:
        message = "not a name that Singerlake gives: readers pass it over"
        report.findings.append(Finding(Level.NOTE, "foreign-object", key, message))
    if fix:
        report.fixed = mending.fix(store, found, report.findings, stale, times)
        report.findings = _with_what_stayed(store, found, report.findings)
        report.findings = _with_what_is_short(store, found, report.findings)
    return report


def _with_what_stayed(store: Store, found: Inventory, findings: list[Finding]) -> list[Finding]:
    """The findings, as not fixable where a document is no better after the mending: nothing can
    be told from files that cannot be read."""
    wrong = {one.key for one in findings if one.fixable and one.code in _DOCUMENTS}
    if not wrong:
        return findings
    stayed = {finding.key for finding in check_catalogues(store, found)}
    for one in found.streams.values():
        if one.keys.manifest in wrong:
            try:
                log.read_head(store, one.keys)
            except (NotFound, CorruptDocument):
                stayed.add(one.keys.manifest)
    return [replace(one, fixable=one.fixable and one.key not in stayed) for one in findings]


def _with_what_is_short(store: Store, found: Inventory, findings: list[Finding]) -> list[Finding]:
    """The findings, as not fixable where a log begins anew and still lacks what is known of it."""
    if all(one.code != "log-shorter" for one in findings):
        return findings
    short = {one.key for one in check_markers(store, found, None, None)}
    return [replace(one, fixable=one.fixable and one.key not in short) for one in findings]


def _locks(store: Store, found: Inventory) -> dict[str, Stored]:
    """The lock files there are now; one that is gone again was in use."""
    locks = {}
    for key in (key for one in found.streams.values() for key in one.locks):
        try:
            locks[key] = store.read(key)
        except NotFound:
            continue
    return locks


def _still_the_same(store: Store, locks: dict[str, Stored], until: float) -> dict[str, Stored]:
    """The locks that nobody refreshed while we watched."""
    if not locks:
        return {}
    time.sleep(max(0.0, until - time.monotonic()))
    same = {}
    for key, lock in locks.items():
        try:
            if store.read(key).version == lock.version:
                same[key] = lock
        except NotFound:
            continue
    return same


def _lock_findings(
    locks: dict[str, Stored], stale: dict[str, Stored], times: LockTimes
) -> Iterator[Finding]:
    for key, lock in locks.items():
        try:
            holder = lock_record.decode(lock.data, key).writer_id
        except CorruptDocument:
            holder = "an unreadable record"
        if key in stale:
            message = f"held by {holder}, unchanged for {times.stale_after:.0f} s: its writer died"
            yield Finding(Level.LEFTOVER, "stale-lock", key, message, fixable=True)
        else:
            yield Finding(Level.NOTE, "lock", key, f"in use by {holder}")
