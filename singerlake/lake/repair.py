"""Making the catalogues and the lake document whole again."""

from __future__ import annotations

from singerlake.errors import CorruptDocument
from singerlake.format import catalogue, times
from singerlake.format import keys as key_names
from singerlake.format.catalogue import Entry
from singerlake.lake import clock, discovery, inventory, registry
from singerlake.lake.inventory import Inventory
from singerlake.store import Store


def repair_catalogue(store: Store, tap_id: str, entries: dict[str, Entry]) -> list[str]:
    """Have these entries in the tap's catalogue; returns copies of what could not be read.

    Entries of streams without files cannot be made from files: readable ones are kept. A
    catalogue that has to be made anew gets all the tap's streams, also those beside the given
    ones, because a reader does not look further than what a catalogue lists.
    """
    copies = _without_unreadable_catalogue(store, tap_id)
    if registry.read_catalogue(store, tap_id) is None:
        entries = {**discovery.catalogue_from_files(store, tap_id), **entries}
    registry.register_streams(store, tap_id, entries)
    return copies


def complete_catalogue(store: Store, tap_id: str) -> list[str]:
    """Have all the tap's streams with files in its catalogue; returns copies of what could not be
    read.

    An entry that agrees with itself stays: a writer at work may have registered a schema that is
    newer than every file. One with another hash than its schema's is made again from the files, or
    where there are none from its own schema.
    """
    copies = _without_unreadable_catalogue(store, tap_id)
    from_files = discovery.catalogue_from_files(store, tap_id)

    def change(known: dict[str, Entry]) -> dict[str, Entry]:
        rehashed = {
            name: catalogue.entry(name, catalogue.schema_of(entry)) for name, entry in known.items()
        }
        right = {
            name: entry
            for name, entry in known.items()
            if catalogue.schema_hash(entry) == catalogue.schema_hash(rehashed[name])
        }
        return {**rehashed, **from_files, **right}

    registry.change_catalogue(store, tap_id, change)
    return copies


def _without_unreadable_catalogue(store: Store, tap_id: str) -> list[str]:
    try:
        registry.read_catalogue(store, tap_id)
    except CorruptDocument:
        return [_set_aside(store, key_names.catalogue(tap_id))]
    return []


def repair_lake_document(store: Store, found: Inventory) -> list[str]:
    """Have what was found in the lake document; returns copies of what could not be read.

    One that has to be made anew gets all the lake's taps, like a catalogue its streams.
    """
    copies = []
    try:
        missing = registry.read_lake_document(store) is None
    except CorruptDocument:
        copies.append(_set_aside(store, key_names.LAKE_DOCUMENT))
        missing = True
    taps = inventory.take(store).tap_ids() if missing else found.tap_ids()
    registry.register_taps(store, sorted(taps))
    return copies


def _set_aside(store: Store, key: str) -> str:
    """Keep a copy of a document that people may have written in, then take it out of the way."""
    stored = store.read(key)
    copy = f"{key.removesuffix('.json')}.unreadable-{times.stamp(clock.now())}.json"
    store.create(copy, stored.data)
    store.delete_if(key, stored.version)
    return copy
