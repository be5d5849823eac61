"""The files that a stream has now: what its records name and nobody has forgotten."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from singerlake.errors import ConfigError
from singerlake.format import blob as blobs
from singerlake.format import blob_keys
from singerlake.format.schema import Schema
from singerlake.lake.blobs.live import Live
from singerlake.lake.blobs.reference import said_of
from singerlake.lake.lake import Stream
from singerlake.lake.snapshot import Snapshot


@dataclass(frozen=True)
class Entry:
    """One file: its id (the value of the record's key), and the record that names it.

    `path` is where its bytes lie, below the stream's folder; `sequence` is the number of the
    record's commit, 0 for a file that was put just now.
    """

    id: str
    property_name: str
    path: str
    record: Mapping[str, Any]
    sequence: int

    @property
    def sha256(self) -> str:
        return blob_keys.sha256_of(self.path)

    @property
    def name(self) -> str:
        """The name that it was put under, or the last part of where it came from."""
        given = self.record.get("name")
        if isinstance(given, str) and given:
            return given
        source = str(self.record.get(self.property_name) or "")
        return source.rstrip("/").rpartition("/")[2] or self.sha256


def entries(stream: Stream) -> list[Entry]:
    """The files of a stream, in the order of their commits. Reads the lines that name files.

    Of several records with one key, the last that names a file counts.
    """
    return list(_current(stream.snapshot()).values())


def _current(snapshot: Snapshot) -> dict[tuple[str, str], Entry]:
    found: dict[tuple[str, str], Entry] = {}
    live = Live()
    for sequence, schema, said in said_of(snapshot):
        live.add(sequence, said)
        for entry in _named(sequence, schema, said):
            found.pop((said.key, entry.property_name), None)
            found[said.key, entry.property_name] = entry
    return {
        (key, name): entry
        for (key, name), entry in found.items()
        if live.names_at(entry.path, key, entry.sequence)
    }


def _named(sequence: int, schema: Schema, said: blobs.Named) -> Iterator[Entry]:
    unique = id_of(said.record, tuple(schema.key_properties))
    for name in blobs.marked(schema):
        if name in said.paths:
            yield Entry(unique, name, said.paths[name], said.record, sequence)


def id_of(record: Mapping[str, Any], key: tuple[str, ...]) -> str:
    """The key as people name it: the value, or several as JSON."""
    if len(key) == 1:
        value = record.get(key[0])
        return value if isinstance(value, str) else blobs.key_of(record, key)[1:-1]
    return blobs.key_of(record, key)


def find(stream: Stream, unique: str, property_name: str | None = None) -> Entry:
    """The file of this id. Raises `ConfigError` where there is none, or more than one."""
    found = [
        entry
        for entry in entries(stream)
        if entry.id == unique and property_name in (None, entry.property_name)
    ]
    if not found:
        raise ConfigError(
            f"stream {stream.name!r} of {stream.tap_id!r} has no file of the id {unique!r}; "
            "`singerlake latest` shows the newest"
        )
    if len(found) > 1:
        names = ", ".join(entry.property_name for entry in found)
        raise ConfigError(f"the record {unique!r} names several files: choose one of {names}")
    return found[0]


def latest(stream: Stream) -> Entry | None:
    """The newest file: by `start`, where records have one, then by commit, then by its place in
    there; None without files."""

    def place(one: Entry) -> tuple[str, int]:
        return str(one.record.get("start") or ""), one.sequence

    return max(reversed(entries(stream)), key=place, default=None)
