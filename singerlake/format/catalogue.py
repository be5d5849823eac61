"""The catalogue: a tap's streams as a Singer catalog, which any Singer tool can read.

A stream's entry has the schema of its newest version; the entry's root metadata names its hash.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from singerlake.errors import CorruptDocument
from singerlake.format import document
from singerlake.format.schema import Schema

KIND = "singerlake.catalogue"

HASH_KEY = "singerlake.schema-hash"
"""Where an entry's root metadata holds the schema hash."""

Entry = dict[str, Any]


def entry(stream: str, schema: Schema) -> Entry:
    """A stream's catalog entry: everything selected, keys declared, metadata by breadcrumb."""
    keys = list(schema.key_properties)
    root = {
        "inclusion": "available",
        "selected": True,
        "table-key-properties": keys,
        HASH_KEY: schema.hash(),
    }
    properties = schema.schema.get("properties")
    names = list(properties) if isinstance(properties, Mapping) else []
    return {
        "tap_stream_id": stream,
        "stream": stream,
        "schema": dict(schema.schema),
        "key_properties": keys,
        "metadata": [
            {"breadcrumb": [], "metadata": root},
            *(
                {
                    "breadcrumb": ["properties", name],
                    "metadata": {"inclusion": "automatic" if name in keys else "available"},
                }
                for name in names
            ),
        ],
    }


def schema_of(stream_entry: Entry) -> Schema:
    """The schema and keys that the entry holds."""
    return Schema(stream_entry["schema"], tuple(stream_entry.get("key_properties") or ()))


def schema_hash(stream_entry: Entry) -> str:
    """The hash of the schema that the entry holds; "" where it does not say."""
    for item in stream_entry.get("metadata", []):
        if item.get("breadcrumb") == []:
            return str(item.get("metadata", {}).get(HASH_KEY, ""))
    return ""


def encode(tap_id: str, entries: Iterable[Entry]) -> bytes:
    """The document, with the streams sorted by name."""
    body = {
        "format": KIND,
        "format_version": document.VERSION,
        "tap_id": tap_id,
        "streams": sorted(entries, key=lambda item: str(item["tap_stream_id"])),
    }
    return document.seal(document.encode_object(body))


def decode(data: bytes, where: str, tap_id: str | None = None) -> dict[str, Entry]:
    """The entries by stream name. Raises `CorruptDocument` and `UnsupportedFormat`.

    With a `tap_id`, the catalogue of another tap is refused: where a disk does not tell upper from
    lower case, two taps can have one folder.
    """
    document.require_seal(data, KIND, where)
    body = document.decode_object(data, KIND, where)
    if tap_id is not None and body.get("tap_id", tap_id) != tap_id:
        raise CorruptDocument(
            f"{where}: expected the catalogue of {tap_id!r}, found that of {body['tap_id']!r}; put "
            "it back where it belongs, then run `singerlake check --fix`. If both are taps of "
            "yours, this disk takes their names for one: give one of them another `tap_id`"
        )
    streams = body.get("streams")
    if not isinstance(streams, list) or not all(map(_is_entry, streams)):
        raise document.corrupt(KIND, where, "no list of streams, each with a name and a schema")
    return {item["tap_stream_id"]: item for item in streams}


def _is_entry(item: object) -> bool:
    return (
        isinstance(item, dict)
        and isinstance(item.get("tap_stream_id"), str)
        and isinstance(item.get("schema"), dict)
        and _is_list(item.get("key_properties") or [], _is_name)
        and _is_list(item.get("metadata", []), _is_metadata)
    )


def _is_list(value: object, is_item: Callable[[object], bool]) -> bool:
    return isinstance(value, list) and all(map(is_item, value))


def _is_name(value: object) -> bool:
    return isinstance(value, str)


def _is_metadata(value: object) -> bool:
    return isinstance(value, dict) and isinstance(value.get("metadata", {}), dict)
