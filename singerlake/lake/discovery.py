"""The streams of a tap: from its catalogue, and from the files where there is none."""

from __future__ import annotations

from singerlake.errors import (
    BadMessage,
    CorruptFile,
    MissingCommits,
    MissingFile,
    StaleSnapshot,
    UnknownStream,
)
from singerlake.format import catalogue, message, singer_file
from singerlake.format import keys as key_names
from singerlake.format.catalogue import Entry
from singerlake.format.keys import StreamKeys
from singerlake.lake import registry, snapshot
from singerlake.store import Store


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
    except (MissingCommits, UnknownStream):
        return None
    for file in reversed(list(newest.files())):
        try:
            line = singer_file.schema_line(newest.blocks(file), file.path)
            return catalogue.entry(keys.stream, message.decode_schema(line))
        except (BadMessage, CorruptFile, MissingFile, StaleSnapshot):
            continue
    return None
