"""Evidence: how far a stream's log had come, by whatever else in the lake says so.

Markers in the catalogue, the runs, and the jobs that noted themselves in the lake document. Pins
and consumers are in `shortened`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from singerlake.errors import CorruptDocument
from singerlake.format import consumer, marker
from singerlake.lake import registry, shortened
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.runs import history
from singerlake.lake.shortened import Place, Places
from singerlake.store import Store


def of_markers(store: Store, tap_ids: Iterable[str]) -> Places:
    """The markers of these taps: one request for each."""
    found: Places = {}
    for tap_id in tap_ids:
        for name, place in _markers(store, tap_id):
            found.setdefault((tap_id, name), []).append(place)
    return found


def with_markers(store: Store, tap_ids: Iterable[str]) -> Places:
    """Those of pins, consumers and markers."""
    return joined(shortened.places(store), of_markers(store, sorted(tap_ids)))


def of_readers(store: Store, tap_ids: Iterable[str]) -> Places:
    """The runs of these taps, and the jobs that read their streams."""
    found: Places = {}
    for tap_id in tap_ids:
        for name, place in (*_runs(store, tap_id), *_jobs(store, tap_id)):
            found.setdefault((tap_id, name), []).append(place)
    return found


def joined(*several: Places) -> Places:
    """All of these together."""
    found: Places = {}
    for places in several:
        for key, some in places.items():
            found.setdefault(key, []).extend(some)
    return found


def _markers(store: Store, tap_id: str) -> Iterator[tuple[str, Place]]:
    try:
        entries = registry.read_catalogue(store, tap_id) or {}
    except CorruptDocument:
        return
    for name, entry in entries.items():
        if (at := marker.of(entry)) is not None:
            yield name, Place("the marker in the catalogue", Bookmark(*at))


def _runs(store: Store, tap_id: str) -> Iterator[tuple[str, Place]]:
    """Of each stream and each log, the run that came furthest."""
    try:
        runs = history.logged(store, tap_id)
    except CorruptDocument:
        return
    last: dict[tuple[str, str], Place] = {}
    for run in runs:
        for name, landed in run.streams.items():
            known = last.get((name, landed.log_id))
            if landed.log_id and (known is None or landed.last_sequence > known.bookmark.sequence):
                bookmark = Bookmark(landed.log_id, landed.last_sequence)
                last[name, landed.log_id] = Place(f"the run {run.run_id!r}", bookmark, run.ended)
    for (name, _), place in last.items():
        yield name, place


def _jobs(store: Store, tap_id: str) -> Iterator[tuple[str, Place]]:
    try:
        body = registry.read_lake_document(store) or {}
        entries = registry.read_catalogue(store, tap_id) or {}
    except CorruptDocument:
        return
    for name in entries:
        for job in consumer.of_stream(body, tap_id, name):
            if job.log_id:
                bookmark = Bookmark(job.log_id, job.sequence)
                yield name, Place(f"the {job.kind} {job.name!r}", bookmark, job.seen)
