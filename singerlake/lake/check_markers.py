"""Checking what the lake knows to exist: taps, streams, and how far their logs had come."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from singerlake.errors import CorruptDocument, NotFound
from singerlake.format import keys as key_names
from singerlake.format import lake_document, marker
from singerlake.format.keys import StreamKeys
from singerlake.format.marker import Marker
from singerlake.lake import log, markers, registry
from singerlake.lake.commit import has_files
from singerlake.lake.finding import Finding, Level
from singerlake.lake.inventory import Inventory
from singerlake.lake.parallel import in_parallel
from singerlake.store import Store


def check_markers(
    store: Store, found: Inventory, tap_id: str | None, stream: str | None
) -> Iterator[Finding]:
    """What has vanished of the lake, of one tap, or of one stream of a tap.

    A manifest is read after the marker that it has to reach: runs may end meanwhile.
    """
    taps = sorted(found.tap_ids() | {tap_id} if tap_id is not None else found.tap_ids())
    known = [(StreamKeys(tap, name), at) for tap in taps for name, at in _known(store, tap, stream)]
    for finding in in_parallel(partial(_stream, store, found), known):
        if finding is not None:
            yield finding
    if stream is None:
        yield from _taps(store, found, tap_id)


def _known(store: Store, tap_id: str, stream: str | None) -> Iterator[tuple[str, Marker]]:
    try:
        entries = registry.read_catalogue(store, tap_id) or {}
    except CorruptDocument:
        return
    for name, entry in sorted(entries.items()):
        at = marker.of(entry)
        if at is not None and stream in (None, name):
            yield name, at


def _stream(store: Store, found: Inventory, known: tuple[StreamKeys, Marker]) -> Finding | None:
    keys, at = known
    try:
        lacks = markers.shortage(log.read_head(store, keys).manifest, at)
    except CorruptDocument:
        return None
    except NotFound:
        listed = found.streams.get(keys)
        if (listed is not None and listed.files) or has_files(store, keys):
            return None
        message = f"{markers.gone(at)}. {markers.remedy(keys)}"
        return Finding(Level.ERROR, "stream-missing", keys.manifest, message)
    if not lacks:
        return None
    return Finding(Level.ERROR, "log-shorter", keys.manifest, f"{lacks}. {markers.remedy(keys)}")


def _taps(store: Store, found: Inventory, tap_id: str | None) -> Iterator[Finding]:
    try:
        body = registry.read_lake_document(store)
    except CorruptDocument:
        return
    there = found.catalogues | {keys.tap_id for keys in found.streams}
    for name in sorted({} if body is None else body["taps"]):
        if tap_id not in (None, name):
            continue
        since = lake_document.vanished(body, name)
        is_gone = name not in there and lake_document.has_landed(body, name)
        if since or (is_gone and not _exists(store, key_names.catalogue(name))):
            what = markers.tap_was_gone(since) if since else markers.TAP_GONE
            message = f"{what}. {markers.remedy(name)}"
            yield Finding(Level.ERROR, "tap-missing", key_names.catalogue(name), message)


def _exists(store: Store, key: str) -> bool:
    """Whether a tap that nothing was listed of has come meanwhile."""
    try:
        store.version(key)
    except NotFound:
        return False
    return True
