"""What there is in a lake: from its documents, and by listing where they are missing."""

from __future__ import annotations

from singerlake.errors import (
    BadMessage,
    CorruptDocument,
    CorruptFile,
    MissingFile,
    UnknownStream,
    UnknownTap,
)
from singerlake.format import catalogue, message, singer_file
from singerlake.format import keys as key_names
from singerlake.format.catalogue import Entry
from singerlake.format.keys import StreamKeys
from singerlake.lake import registry, snapshot
from singerlake.store import Store


def tap_ids(store: Store) -> list[str]:
    """The lake's taps: one request, or a listing where the lake document is missing."""
    body = registry.read_lake_document(store)
    return sorted(body["taps"]) if body is not None else registry.names_in(store, key_names.ROOT)


def require_tap(store: Store, tap_id: str) -> None:
    """Raises `UnknownTap`, or `CorruptDocument` where the lake document hides taps behind it."""
    known = tap_ids(store)
    if tap_id not in known:
        raise UnknownTap(
            f"{store.url}: no tap {tap_id!r} in this lake; `singerlake ls` shows the taps"
        )
    hidden = set(registry.names_in(store, key_names.ROOT)) - set(known)
    if hidden:
        raise CorruptDocument(
            f"{store.url}/{key_names.LAKE_DOCUMENT}: it names {tap_id!r}, which has nothing, and "
            f"not {', '.join(map(repr, sorted(hidden)))}; `singerlake check --fix` adds what it "
            "does not name"
        )


def catalogue_of(store: Store, tap_id: str) -> dict[str, Entry]:
    """A tap's catalog entries: one request, or from the files where there is no catalogue."""
    entries = registry.read_catalogue(store, tap_id)
    return catalogue_from_files(store, tap_id) if entries is None else entries


def catalogue_from_files(store: Store, tap_id: str) -> dict[str, Entry]:
    """The entries of the tap's streams that have files, each with its newest file's schema."""
    names = registry.names_in(store, key_names.tap_folder(tap_id))
    found = {name: _newest_entry(store, StreamKeys(tap_id, name)) for name in names}
    return {name: entry for name, entry in found.items() if entry is not None}


def _newest_entry(store: Store, keys: StreamKeys) -> Entry | None:
    """From the newest file that can be read; None where the folder has none, or is not ours."""
    try:
        newest = snapshot.take(store, keys)
    except UnknownStream:
        return None
    for file in reversed(list(newest.files())):
        try:
            line = singer_file.schema_line(newest.blocks(file), file.path)
            return catalogue.entry(keys.stream, message.decode_schema(line))
        except (BadMessage, CorruptFile, MissingFile):
            continue
    return None
