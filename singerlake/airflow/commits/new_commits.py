"""`new_commits`: what came in a stream since the DAG's own last success."""

from __future__ import annotations

import json
from typing import Any

from airflow.sdk import Asset
from airflow.sdk.exceptions import AirflowRuntimeError
from airflow.sdk.execution_time.context import AssetStateStoreAccessor

from singerlake.airflow import settings
from singerlake.airflow.commits.ranges import SINCE, Range, Ranges, given_since
from singerlake.errors import ConfigError, StaleBookmark
from singerlake.lake import Bookmark, Increment, Stream

KEY = "singerlake_read_by_"


def new_commits(context: Any, asset: Asset | None = None) -> Increment:
    """What was committed since the last run of this DAG that succeeded, or all.

    `asset` is that of `commits_of`; the task's only one among its inlets by default. All tasks of a
    run, and all their retries, get the same commits; tasks that begin together should get them
    from one before them. A run that fails leaves its commits to the next. Let one run of the DAG
    be active at a time: two would read the same.

    A run whose configuration has `new_commits_since` reads the commits after this sequence number,
    and all with 0.

    Raises `ConfigError`, and `StaleBookmark` after a rebuild, until such a run has succeeded.
    """
    chosen = asset or _only_asset(context)
    place = dict(chosen.extra["singerlake"])
    ti = context["ti"]
    state, key = AssetStateStoreAccessor(name=chosen.name), f"{KEY}{ti.dag_id}"
    stream = settings.opened_lake(place["lake"]).stream(place["tap"], place["stream"])
    ranges = Ranges.parse(state.get(key) or {})
    known = ranges.of(ti.run_id)
    if known is not None:
        return _increment(stream, ti.dag_id, known.since, known.until)
    sequence = given_since(context["dag_run"].conf)
    if sequence is None:
        since = ranges.since(lambda run_id: _has_succeeded(ti, run_id))
    else:
        since = stream.increment().up_to(sequence).until if sequence else None
    increment = _increment(stream, ti.dag_id, since)
    if increment.until is not None:
        state.set(key, ranges.add(Range(ti.run_id, since, increment.until)).to_json())
    return increment


def _increment(
    stream: Stream, dag_id: str, since: Bookmark | None, until: Bookmark | None = None
) -> Increment:
    """Raises `StaleBookmark`, which says how to go on."""
    try:
        return stream.increment(since, until)
    except StaleBookmark as error:
        conf, read = json.dumps({SINCE: 0}), 0 if since is None else since.sequence
        raise StaleBookmark(
            f"{error}. The DAG {dag_id!r} has read up to number {read} of the log of then. No "
            "commit is lost, but numbers do not say which of them it has read. Trigger a run with "
            f"the configuration {conf} to read all commits once more, or with a number of the log "
            "of now to read those after it. Once that run has succeeded, the DAG goes on from there"
        ) from None


def _only_asset(context: Any) -> Asset:
    found = [
        one
        for one in context["inlets"]
        if isinstance(one, Asset) and "singerlake" in (one.extra or {})
    ]
    if len(found) != 1:
        raise ConfigError(
            "expected one asset of `commits_of` among the task's inlets, or as an argument, "
            f"found {len(found)}"
        )
    return found[0]


def _has_succeeded(ti: Any, run_id: str) -> bool:
    """A run that was deleted has not: its commits are read again."""
    try:
        # A text, or a member of an enumeration that is equal to it.
        return bool(ti.get_dagrun_state(ti.dag_id, run_id) == "success")
    except AirflowRuntimeError:
        return False
