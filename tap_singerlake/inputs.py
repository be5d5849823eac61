"""The catalog that the tap is given, made safe for the SDK, which trusts its shape."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

import msgspec

from singerlake.errors import ConfigError


class _Metadata(msgspec.Struct):
    breadcrumb: list[str]
    metadata: dict[str, Any]


class _Entry(msgspec.Struct):
    """What the SDK looks into, and what it must find there."""

    tap_stream_id: str
    stream: str | None = None
    key_properties: list[str] | None = None
    replication_key: str | None = None
    replication_method: str | None = None
    schema: dict[str, Any] = {}
    metadata: list[_Metadata] = []


class CatalogShape(msgspec.Struct):
    """What `checked_catalog` takes."""

    streams: list[_Entry]


def checked_catalog(catalog: Any) -> Any:
    """The same catalog, or the path of one, with schemas that the SDK can walk.

    Raises `ConfigError` where its shape is another.
    """
    if not isinstance(catalog, dict):
        from singer_sdk.singerlib import Catalog

        if catalog is None or isinstance(catalog, Catalog | str | PurePath):
            return catalog
    try:
        msgspec.convert(catalog, CatalogShape)
    except msgspec.ValidationError as error:
        raise ConfigError(
            "the catalog is not of the shape that --discover writes, "
            f'{{"streams": [{{"tap_stream_id": …, "schema": …, "metadata": …}}]}}: {error}'
        ) from None
    entries = [entry | {"schema": walkable(entry.get("schema"))} for entry in catalog["streams"]]
    return catalog | {"streams": entries}


def walkable(schema: object) -> dict[str, Any]:
    """A copy of a schema that the SDK can walk: there every part of it is an object.

    JSON Schema has `true` as well, and some taps send `null` or lists: such a part says nothing.
    """
    if not isinstance(schema, Mapping):
        return {}
    copy = dict(schema)
    if "properties" in copy:
        parts = copy["properties"]
        named = parts.items() if isinstance(parts, Mapping) else ()
        copy["properties"] = {name: walkable(part) for name, part in named}
    if "items" in copy:
        copy["items"] = walkable(copy["items"])
    if isinstance(copy.get("anyOf"), list):
        copy["anyOf"] = [walkable(part) for part in copy["anyOf"]]
    for keyword, kinds in _KINDS.items():
        if keyword in copy and not isinstance(copy[keyword], kinds):
            del copy[keyword]
    return copy


_KINDS: dict[str, Any] = {"type": str | list, "anyOf": list, "required": list}
"""Keywords that the SDK looks into, and what it must find there."""
