"""Runs that left commits and no document: open while they may be at work, lost after that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from singerlake.errors import NotFound
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.run import RunStream
from singerlake.lake import clock, continuation, discovery, log, provenance
from singerlake.lake.log import Selection
from singerlake.lake.parallel import in_parallel
from singerlake.lake.runs import landed
from singerlake.lake.runs.run import LOST_AFTER, Run
from singerlake.store import Store

Identity = tuple[str, str]


@dataclass(frozen=True)
class _Left:
    """What a run left in one stream, and when it committed there first and last."""

    stream: str
    what: RunStream
    first: datetime
    last: datetime


def find(
    store: Store,
    tap_id: str,
    known: Iterable[Run],
    lost_after: timedelta = LOST_AFTER,
    *,
    since_known: bool = False,
) -> list[Run]:
    """The runs among the tap's commits that are not `known`, the newest last.

    Reads the manifest of every stream. `since_known` begins in each stream with the first commit
    of the known runs there, and leaves out what came before.
    """
    known = list(known)
    named = {run.identity for run in known}
    begins = _first_sequences(known) if since_known else {}

    def look(stream: str) -> dict[Identity, _Left]:
        return _by_run(store, StreamKeys(tap_id, stream), begins)

    left: dict[Identity, list[_Left]] = {}
    for found in in_parallel(look, discovery.catalogue_of(store, tap_id)):
        for identity, one in found.items():
            if identity not in named:
                left.setdefault(identity, []).append(one)
    runs = [_run(tap_id, identity, parts) for identity, parts in left.items()]
    runs.sort(key=lambda run: run.ended)
    return list(_judged(runs, known, clock.now() - lost_after))


def _first_sequences(known: Iterable[Run]) -> Mapping[str, int]:
    """The lowest number of each log that a known run has there."""
    begins: dict[str, int] = {}
    for stream in (stream for run in known for stream in run.streams.values()):
        if stream.first_sequence:
            lowest = begins.get(stream.log_id, stream.first_sequence)
            begins[stream.log_id] = min(lowest, stream.first_sequence)
    return begins


def _by_run(store: Store, keys: StreamKeys, begins: Mapping[str, int]) -> dict[Identity, _Left]:
    try:
        manifest = log.read_head(store, keys).manifest
    except NotFound:
        return {}
    known = (n for log, n in begins.items() if continuation.is_known(manifest, log, n))
    since = min(known, default=1) - 1
    left: dict[Identity, _Left] = {}
    files = log.files(store, keys, manifest, Selection(since=since))
    for file in provenance.committed_rows(store, keys, files):
        if file.merge is None and file.run_id and file.writer_id:
            identity = file.run_id, file.writer_id
            origin = continuation.origin_log_id(manifest, file.sequence)
            left[identity] = _added(left.get(identity), keys.stream, origin, file)
    return left


def _added(before: _Left | None, stream: str, log_id: str, file: File) -> _Left:
    when = file.committed
    if before is None:
        return _Left(stream, landed.added(RunStream(), log_id, file), when, when)
    what = landed.added(before.what, log_id, file)
    return _Left(stream, what, min(before.first, when), max(before.last, when))


def _run(tap_id: str, identity: Identity, parts: list[_Left]) -> Run:
    return Run(
        tap_id=tap_id,
        run_id=identity[0],
        writer_id=identity[1],
        begun=min(part.first for part in parts),
        ended=max(part.last for part in parts),
        outcome="open",
        streams={part.stream: part.what for part in parts},
    )


def _judged(runs: list[Run], known: list[Run], limit: datetime) -> Iterator[Run]:
    """A run is lost after a while, or where a later run has begun with one of its streams."""
    for run in runs:
        is_lost = run.ended < limit or any(_follows(one, run) for one in (*runs, *known))
        yield replace(run, outcome="lost") if is_lost else run


def _follows(other: Run, run: Run) -> bool:
    """Whether another run began after this one's last commit, and has one of its streams.

    Not where all its commits came before: its clock was ahead.
    """
    return other.begun > run.ended and any(
        stream in other.streams and not _is_before(other.streams[stream], left)
        for stream, left in run.streams.items()
    )


def _is_before(others: RunStream, left: RunStream) -> bool:
    return others.log_id == left.log_id and 0 < others.last_sequence < left.last_sequence
