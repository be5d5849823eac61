"""SCHEMA lines that stand in no file."""

from __future__ import annotations

from singerlake.errors import ConfigError
from singerlake.format import schema_union
from singerlake.format.catalogue import Entry, schema_of
from singerlake.format.schema import Schema
from singerlake.lake import Snapshot, schemas
from singerlake.plugin.exact_json import exact_json


def newest(stream: str, entry: Entry) -> bytes:
    """That of the lake's catalogue, with every keyword: the SDK knows only some."""
    return _line(stream, schema_of(entry))


def merged(snapshot: Snapshot, entry: Entry, until: int | None = None) -> bytes:
    """One that holds the records of all versions, or of those in use up to a number.

    Raises `ConfigError` where none can.
    """
    in_use = schemas.in_use(snapshot, until)
    hashes = sorted(schemas.hashes(snapshot, until), key=lambda hashed: hashed == in_use)
    found = schemas.schemas(snapshot, hashes)
    versions = [found[hashed] for hashed in hashes if hashed in found] or [schema_of(entry)]
    stream = snapshot.keys.stream
    try:
        return _line(stream, schema_union.union(versions))
    except ConfigError as error:
        raise ConfigError(f"schema_versions is merged, stream {stream!r}: {error}") from None


def _line(stream: str, schema: Schema) -> bytes:
    content = {
        "type": "SCHEMA",
        "stream": stream,
        "schema": schema.schema,
        "key_properties": list(schema.key_properties),
    }
    return exact_json(content).encode()
