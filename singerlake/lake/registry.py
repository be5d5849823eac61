"""The two documents that list what there is: the lake's taps, and a tap's streams.

Both are changed conditionally, and only where something is missing. What people write in the lake
document stays; a catalogue is ours, and a stream's entry is replaced when its schema changes.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from singerlake.errors import (
    AlreadyExists,
    BadName,
    Changed,
    NotFound,
    OutcomeUnknown,
)
from singerlake.format import catalogue, lake_document
from singerlake.format import keys as key_names
from singerlake.format.catalogue import Entry
from singerlake.lake import clock
from singerlake.lake.patience import Patience, lost_race
from singerlake.store import Store, Stored

logger = logging.getLogger(__name__)

MAX_WAIT = 120.0


@dataclass(frozen=True)
class Catalogue:
    """A tap's catalog entries by stream, and the version of the object that holds them."""

    entries: dict[str, Entry]
    version: str


def read_lake_document(store: Store) -> dict[str, Any] | None:
    """The lake document, or None where there is none."""
    stored = _read(store, key_names.LAKE_DOCUMENT)
    if stored is None:
        return None
    return lake_document.decode(stored.data, f"{store.url}/{key_names.LAKE_DOCUMENT}")


def tap_ids(store: Store) -> list[str]:
    """The lake's taps: one request, or a listing where the lake document is missing."""
    body = read_lake_document(store)
    return sorted(body["taps"]) if body is not None else names_in(store, key_names.ROOT)


def read_catalogue(store: Store, tap_id: str) -> dict[str, Entry] | None:
    """The tap's catalog entries by stream, or None where there is no catalogue."""
    found = find_catalogue(store, tap_id)
    return None if found is None else found.entries


def find_catalogue(store: Store, tap_id: str) -> Catalogue | None:
    """The tap's catalogue as it is now, or None where there is none."""
    key = key_names.catalogue(tap_id)
    stored = _read(store, key)
    if stored is None:
        return None
    entries = catalogue.decode(stored.data, f"{store.url}/{key}", tap_id)
    return Catalogue(entries, stored.version)


def register_taps(store: Store, tap_ids: Iterable[str]) -> dict[str, Any]:
    """Have these taps in the lake document, which is made where it is missing. Returns it."""
    wanted = list(tap_ids)
    found: list[str] = []
    body: dict[str, Any] = {}

    def change(data: bytes | None) -> bytes | None:
        nonlocal body
        if data is None:
            # One that names a part of the taps only would hide the others from readers.
            body = lake_document.new(uuid.uuid4().hex, clock.now())
            found[:] = names_in(store, key_names.ROOT)
            body = lake_document.with_taps(body, [*wanted, *found])
            return lake_document.encode(body)
        known = lake_document.decode(data, f"{store.url}/{key_names.LAKE_DOCUMENT}")
        body = lake_document.with_taps(known, wanted)
        return lake_document.encode(body) if body != known else None

    if update(store, key_names.LAKE_DOCUMENT, change).is_new and not found:
        logger.info("Created a new lake at %s", store.url)
    return body


def note(store: Store, tap_id: str, **moments: datetime | None) -> None:
    """Have the lake document say these of the tap; see `lake_document.noting`."""

    def change(data: bytes | None) -> bytes | None:
        if data is None:
            return None
        known = lake_document.decode(data, f"{store.url}/{key_names.LAKE_DOCUMENT}")
        changed = lake_document.noting(known, tap_id, **moments)
        return lake_document.encode(changed) if changed != known else None

    update(store, key_names.LAKE_DOCUMENT, change)


def register_streams(store: Store, tap_id: str, entries: Mapping[str, Entry]) -> Catalogue:
    """Have these entries in the tap's catalogue, in place of what those streams had, but for the
    markers that are known. Returns it."""
    from singerlake.format import marker  # who reads needs none of it

    return change_catalogue(store, tap_id, lambda known: marker.keeping(known, entries))


def put_streams(
    store: Store, tap_id: str, entries: Mapping[str, Entry], listed: Catalogue | None
) -> Catalogue:
    """As `register_streams`, once, in the catalogue that was `listed`: for who has just read it.

    Raises `AlreadyExists` and `Changed` where it is another by now, and `OutcomeUnknown`.
    """
    from singerlake.format import marker

    key = key_names.catalogue(tap_id)
    changed = marker.keeping({} if listed is None else listed.entries, entries)
    data = catalogue.encode(tap_id, changed.values())
    if listed is None:
        return Catalogue(changed, store.create(key, data))
    return Catalogue(changed, store.replace(key, data, listed.version))


def change_catalogue(
    store: Store, tap_id: str, change: Callable[[dict[str, Entry]], dict[str, Entry]]
) -> Catalogue:
    """Change the entries of the tap's catalogue, which is made where it is missing. Returns it."""
    key = key_names.catalogue(tap_id)
    changed: dict[str, Entry] = {}

    def in_document(data: bytes | None) -> bytes | None:
        nonlocal changed
        known = {} if data is None else catalogue.decode(data, f"{store.url}/{key}", tap_id)
        changed = change(known)
        return catalogue.encode(tap_id, changed.values()) if changed != known else None

    updated = update(store, key, in_document)
    return Catalogue(changed, updated.version)


@dataclass(frozen=True)
class Updated:
    """The version of a document as it is now, "" without one; whether this made the document."""

    version: str
    is_new: bool = False


def update(store: Store, key: str, change: Callable[[bytes | None], bytes | None]) -> Updated:
    """Change a small document conditionally; `change` returns None where nothing has to."""
    patience, before = Patience(MAX_WAIT), ""
    while True:
        stored = _read(store, key)
        version = "" if stored is None else stored.version
        data = change(None if stored is None else stored.data)
        if data is None:
            return Updated(version)
        try:
            if stored is None:
                return Updated(store.create(key, data), is_new=True)
            return Updated(store.replace(key, data, stored.version))
        except (AlreadyExists, Changed, OutcomeUnknown):
            if not patience.pause():
                unchanged = version != "" and version == before
                raise lost_race(f"{store.url}/{key}", MAX_WAIT, unchanged) from None
            before = version


def names_in(store: Store, folder: str) -> list[str]:
    """The tap or stream names among the folders here; what is not ours is passed over."""
    names = []
    for segment in store.folders(folder):
        try:
            names.append(key_names.unescape(segment))
        except BadName:
            continue
    return sorted(names)


def _read(store: Store, key: str) -> Stored | None:
    try:
        return store.read(key)
    except NotFound:
        return None
