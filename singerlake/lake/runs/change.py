"""Changing a tap's run log: conditionally, again after a refusal, once after a lost answer."""

from __future__ import annotations

import time
from collections.abc import Callable

from singerlake.errors import AlreadyExists, Changed, CommitConflict, OutcomeUnknown
from singerlake.format import run_log
from singerlake.format.run_keys import RunKeys
from singerlake.format.run_log import RunLog
from singerlake.lake.lock import LockTimes
from singerlake.lake.patience import Patience
from singerlake.lake.runs import log as logs
from singerlake.lake.runs.log import Head
from singerlake.store import Promise, Store


def change(
    store: Store,
    keys: RunKeys,
    head: Head,
    update: Callable[[Head], RunLog | None],
    times: LockTimes,
) -> Head:
    """Apply `update` to the newest log, until it returns None: there is nothing left to change.

    `update` sees whether an earlier put was applied, and only its answer was lost.
    Raises `CommitConflict`.
    """
    patience = Patience(times.max_wait)
    while (changed := update(head)) is not None:
        changed, segments = logs.seal(store, keys, changed)
        try:
            fresh = Head(changed, _put(store, keys, changed, head.version))
        except (AlreadyExists, Changed, OutcomeUnknown):
            fresh = logs.read_or_new(store, keys)
        else:
            if store.promise() is Promise.CONDITIONAL:
                return fresh
            # No condition held another writer back, so see who won.
            time.sleep(times.settle)
            fresh = logs.read_or_new(store, keys)
        _remove_unused(store, keys, head, fresh, segments)
        head = fresh
        if not patience.pause():
            raise CommitConflict(
                f"{store.url}/{keys.log}: other runs changed it each time for "
                f"{patience.waited():.0f} s; the next run of the tap, or `singerlake check --fix`, "
                "adds what is missing"
            )
    return head


def _put(store: Store, keys: RunKeys, log: RunLog, version: str | None) -> str:
    data = run_log.encode(log)
    if version is None:
        return store.create(keys.log, data)
    return store.replace(keys.log, data, version)


def _remove_unused(
    store: Store, keys: RunKeys, before: Head, now: Head, segments: list[str]
) -> None:
    """Delete segments of a put that was refused, once it can never be applied."""
    if (
        segments
        and store.promise() is Promise.CONDITIONAL
        and now.version not in (None, before.version)
    ):
        named = set(logs.segment_paths(store, keys, now.log))
        for path in segments:
            if path not in named:
                store.delete(keys.under(path))
