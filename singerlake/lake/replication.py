"""Replication: whether a tap sends a stream whole each time, or only what changed.

A full table is what its newest complete run sent; a stream of changes is all that was ever sent.
Which of the two a stream is, is never guessed: somebody says so, or nobody knows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import msgspec

from singerlake.errors import BusyError, ConfigError, DamageError, InputError
from singerlake.format import singer_file
from singerlake.lake import registry
from singerlake.lake.extent import NOW, End, Extent, covered, ended_by
from singerlake.lake.log import Selection
from singerlake.lake.runs import Run, history
from singerlake.lake.snapshot import Snapshot

Method = Literal["full_table", "incremental"]
METHODS: tuple[Method, ...] = ("full_table", "incremental")

_NAMES: Mapping[str, Method] = {
    "FULL_TABLE": "full_table",
    "INCREMENTAL": "incremental",
    "LOG_BASED": "incremental",
}


@dataclass(frozen=True)
class Replication:
    """How a stream is sent, and who says so. `method` is None where nobody does."""

    method: Method | None
    why: str = ""


@dataclass(frozen=True)
class Current:
    """The commits that hold the rows of a stream as its source is now.

    `run` is the complete run whose rows these are, None where all commits count; `is_asked` where
    somebody has asked for a run or a full table. `warning` says what may be wrong with the rows.
    """

    selection: Selection
    run: Run | None = None
    is_asked: bool = False
    warning: str = ""


def replication(snapshot: Snapshot, end: End = NOW) -> Replication:
    """How the stream is sent: by the catalogue, by the newest complete run, or by its SCHEMA.

    With an `end`, by what was there then: what came later must not change what a state was.
    """
    if found := _in_catalogue(snapshot):
        return found
    by_runs, by_schema = _in_runs(snapshot, end), _in_schema(snapshot, end)
    if by_runs and by_schema and by_runs.method != by_schema.method:
        return Replication(None)  # a stream of changes must not be taken for a table that is empty
    return by_runs or by_schema or Replication(None)


def current(snapshot: Snapshot, extent: Extent, asked: Method | None = None) -> Current:
    """Which commits make up the current rows.

    `asked` is the method that somebody has set. Raises `ConfigError` where a full table is asked
    for and no run of the stream is complete, and `MissingManifest` where nothing knows runs.
    """
    whole = covered(snapshot, extent)
    if extent.runs != "all":
        return Current(whole.selection, whole.run, is_asked=True)
    if snapshot.by_listing and asked is None:
        return Current(whole.selection, warning=_unlisted(snapshot))
    found = Replication(asked, "it is set") if asked else replication(snapshot, whole.end)
    if found.method == "full_table":
        try:
            last = covered(snapshot, replace(extent, runs="last"), whole.end)
        except ConfigError as error:
            if asked:
                raise
            return Current(whole.selection, warning=_stale(snapshot, found, error))
        return Current(last.selection, last.run, is_asked=asked is not None)
    if found.method is None and _has_several_runs(snapshot):
        return Current(whole.selection, warning=_unknown(snapshot))
    return Current(whole.selection)


def _in_catalogue(snapshot: Snapshot) -> Replication | None:
    keys = snapshot.keys
    entry = (registry.read_catalogue(snapshot.store, keys.tap_id) or {}).get(keys.stream, {})
    told = [entry.get("replication_method")]
    for item in entry.get("metadata", []):
        if item.get("breadcrumb") == []:
            about = item.get("metadata", {})
            told += [about.get("replication-method"), about.get("forced-replication-method")]
    for name in told:
        if isinstance(name, str) and name.upper() in _NAMES:
            return Replication(_NAMES[name.upper()], f"the catalogue has {name}")
    return None


def _in_runs(snapshot: Snapshot, end: End) -> Replication | None:
    """By whether STATEs hold a bookmark of it; where complete runs differ, nobody knows."""
    stream = snapshot.keys.stream
    logged = history.logged(snapshot.store, snapshot.keys.tap_id)
    runs = [run for run in ended_by(snapshot, logged, end) if run.outcome == "complete"]
    if not runs or runs[-1].streams[stream].bookmark is None:
        return None
    held = runs[-1].streams[stream].bookmark
    if not held and any(run.streams[stream].bookmark for run in runs):
        return None
    has = "a" if held else "no"
    why = f"the STATE of run {runs[-1].run_id} has {has} bookmark of it"
    return Replication("incremental" if held else "full_table", why)


def _in_schema(snapshot: Snapshot, end: End) -> Replication | None:
    """A SCHEMA message may name the properties by which the tap reads on."""
    newest = snapshot.newest_file(end.until)
    if newest is None:
        return None
    try:
        line = singer_file.schema_line(snapshot.blocks(newest), newest.path)
        message: Any = msgspec.json.decode(line)
    except (BusyError, DamageError, InputError, msgspec.MsgspecError):
        return None
    named = message.get("bookmark_properties") if isinstance(message, dict) else None
    if named and isinstance(named, list):
        return Replication("incremental", f"its SCHEMA has bookmark_properties {named}")
    return None


def _has_several_runs(snapshot: Snapshot) -> bool:
    """As far as the manifest says without a further request."""
    manifest = snapshot.manifest
    runs = {(file.run_id, file.writer_id) for file in manifest.files}
    merged = any(file.merge is not None for file in manifest.files)
    return len(runs) > 1 or merged or bool(manifest.segments)


def _stale(snapshot: Snapshot, found: Replication, error: ConfigError) -> str:
    return (
        f"stream {snapshot.keys.stream!r} is a full table ({found.why}), and has no complete run: "
        f"all that was ever sent counts, also rows that are gone at the source ({error})"
    )


def _unlisted(snapshot: Snapshot) -> str:
    return (
        f"stream {snapshot.keys.stream!r}: its manifest is missing, and only the manifest knows "
        "runs, so all that was ever sent counts, in an order that is a guess: run `singerlake "
        "rebuild` first"
    )


def _unknown(snapshot: Snapshot) -> str:
    return (
        f"stream {snapshot.keys.stream!r}: nothing says whether the tap sends it whole each time, "
        "or only what changed, so all that was ever sent counts: rows that were deleted at the "
        "source stay, and without a key each run adds its rows again. Set replication_method "
        "(--replication-method) to full_table or incremental"
    )
