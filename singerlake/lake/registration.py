"""Making a writer's streams known, before any of their files is committed."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future

from singerlake.errors import AlreadyExists, Changed, NotFound, OutcomeUnknown
from singerlake.format import catalogue, marker
from singerlake.format import manifest as manifests
from singerlake.format.catalogue import Entry
from singerlake.format.keys import StreamKeys
from singerlake.format.lake_document import has_landed
from singerlake.lake import clock, discovery, log, registry
from singerlake.lake.markers import Known
from singerlake.lake.registry import Catalogue
from singerlake.store import Store


def register(
    store: Store,
    tap_id: str,
    entries: dict[str, Entry],
    before: Future[None] | None,
    learnt: Known | None = None,
) -> None:
    """Have the tap in the lake document, and these streams in its catalogue.

    `before` is the registration before this one, of the same writer. What these documents say is
    in `learnt` then, and is not read again: a catalogue that others have changed since is not
    replaced, and then all is looked at anew.
    """
    learnt = learnt or Known()
    if before is not None:
        before.result()
    else:
        learnt.has_landed = has_landed(registry.register_taps(store, [tap_id]), tap_id)
    try:
        _register(store, tap_id, entries, learnt, registry.put_streams)
    except (AlreadyExists, Changed, OutcomeUnknown):
        learnt.catalogue = None
        _register(store, tap_id, entries, learnt, _patiently)


Put = Callable[[Store, str, dict[str, Entry], Catalogue | None], Catalogue]


def _register(
    store: Store, tap_id: str, entries: dict[str, Entry], learnt: Known, put: Put
) -> None:
    listed = learnt.catalogue = learnt.catalogue or registry.find_catalogue(store, tap_id)
    known = discovery.catalogue_from_files(store, tap_id) if listed is None else listed.entries
    if listed is None and not known and learnt.has_landed:
        # From now on its folder is there again: whoever looks for what was in it must learn of it.
        registry.note(store, tap_id, vanished=clock.now())
    changed = {
        name: entry for name, entry in entries.items() if not marker.is_same(known.get(name), entry)
    }
    for name in changed.keys() & known.keys():
        _refuse_collision(store, StreamKeys(tap_id, name), changed[name])
    if listed is None:
        # A catalogue of these alone would hide the tap's other streams from readers.
        changed = {**known, **entries}
    if changed:
        learnt.catalogue = put(store, tap_id, changed, listed)
    learnt.new = learnt.new.difference(entries).union(entries.keys() - known.keys())


def _patiently(
    store: Store, tap_id: str, entries: dict[str, Entry], listed: Catalogue | None
) -> Catalogue:
    return registry.register_streams(store, tap_id, entries)


def _refuse_collision(store: Store, keys: StreamKeys, entry: Entry) -> None:
    """Before the catalogue takes a schema that the commit would refuse."""
    schema = catalogue.schema_of(entry)
    try:
        manifest = log.read_head(store, keys).manifest
    except NotFound:
        return
    manifests.require_same_schema(manifest, schema.hash(), schema.digest())
