"""Forgetting files: a tombstone for the record, and the bytes go if nothing else names them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from singerlake.errors import ConfigError
from singerlake.files import metadata
from singerlake.files.entry import Entry, id_of
from singerlake.format import blob as blobs
from singerlake.format.keys import StreamKeys
from singerlake.format.schema import Schema
from singerlake.lake import pins
from singerlake.lake.blobs import purge
from singerlake.lake.blobs.live import Live
from singerlake.lake.blobs.reference import said_of
from singerlake.lake.lake import Lake
from singerlake.lake.snapshot import Snapshot
from singerlake.runtime import REAL


@dataclass(frozen=True)
class Forgotten:
    """A file that is forgotten, or would be; `shared` says that another record names its bytes."""

    entry: Entry
    shared: bool


@dataclass(frozen=True)
class _Found:
    """What records with one key named, with the numbers of their commits."""

    key: dict[str, Any]
    schema: Schema
    entries: tuple[Entry, ...]

    @property
    def text(self) -> str:
        return blobs.key_of(self.key, tuple(self.key))


def forget(
    lake: Lake, tap_id: str, stream: str, ids: Iterable[str], *, apply: bool = False
) -> list[Forgotten]:
    """Forget files by the ids of their records; without `apply`, say what that would do.

    Raises `Pinned` where a pin reads a record that names one of them, and `ConfigError` for an id
    that no record has; then nothing was changed.
    """
    snapshot = lake.stream(tap_id, stream).snapshot()
    wanted = list(dict.fromkeys(ids))
    found, live = _find(snapshot, set(wanted))
    for unique in wanted:
        if unique not in found:
            raise ConfigError(
                f"stream {stream!r} of {tap_id!r} has no file of the id {unique!r}; nothing was "
                "changed"
            )
    for one in found.values():
        for entry in one.entries:
            pins.require_unpinned(snapshot, entry.sequence, entry.sequence)
    going = {one.text for one in found.values()}
    told = [
        Forgotten(entry, live.others(entry.path, going))
        for unique in wanted
        for entry in found[unique].entries
    ]
    if apply:
        _write(lake, tap_id, stream, [found[unique] for unique in wanted], live)
        paths = {one.entry.path for one in told}
        purge.remove(lake.store, StreamKeys(tap_id, stream), paths)
    return told


def _find(snapshot: Snapshot, wanted: set[str]) -> tuple[dict[str, _Found], Live]:
    found: dict[str, _Found] = {}
    live = Live()
    for sequence, schema, said in said_of(snapshot):
        live.add(sequence, said)
        key = tuple(schema.key_properties)
        unique = id_of(said.record, key)
        if unique not in wanted:
            continue
        if said.forgotten:
            continue
        if not key:
            raise ConfigError(
                f"stream {snapshot.keys.stream!r} of {snapshot.keys.tap_id!r} has no key "
                "properties: nothing says which record to forget"
            )
        before = found[unique].entries if unique in found else ()
        named = [
            Entry(unique, name, path, said.record, sequence) for name, path in said.paths.items()
        ]
        values = {name: said.record.get(name) for name in key}
        found[unique] = _Found(values, schema, (*before, *named))
    return _not_forgotten(found, live), live


def _not_forgotten(found: dict[str, _Found], live: Live) -> dict[str, _Found]:
    left: dict[str, _Found] = {}
    for unique, one in found.items():
        named = [each for each in one.entries if live.names_at(each.path, one.text, each.sequence)]
        if named:
            left[unique] = replace(one, entries=tuple(named))
    return left


def _write(lake: Lake, tap_id: str, stream: str, found: list[_Found], live: Live) -> None:
    """Commit the tombstones, each under the schema of the record that it is about."""
    writer = lake.writer(tap_id)
    with writer:
        for one in found:
            key = tuple(one.schema.key_properties)
            writer.schema(stream, metadata.schema_line(stream, one.schema.schema, key))
            counts = live.counts(one.text)
            line = metadata.tombstone_line(stream, one.key, counts, REAL.now())
            writer.write(line, as_it_is=True)
    writer.end("complete")
