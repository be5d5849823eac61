"""A catalog that leaves every stream whole or out, as the SDK would read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from tap_singerlake.inputs import CatalogShape

_CHANGES = ("replication_key", "replication_method")
_CHANGES_OF_ROOT = ("replication-key", "forced-replication-method")
_Metadata = dict[tuple[str, ...], Mapping[str, Any]]


def selected(catalog: Any) -> dict[str, bool] | None:
    """Whether each stream is selected; None where one is so in part, or is read in another way."""
    try:
        msgspec.convert(catalog, CatalogShape)
    except msgspec.ValidationError:
        return None
    found: dict[str, bool] = {}
    for entry in catalog["streams"]:
        metadata = {tuple(one["breadcrumb"]): one["metadata"] for one in entry.get("metadata", [])}
        if (
            entry["tap_stream_id"] in found
            or any(entry.get(name) is not None for name in _CHANGES)
            or any(metadata.get((), {}).get(name) is not None for name in _CHANGES_OF_ROOT)
            or not all(map(_is_plain, metadata.values()))
        ):
            return None
        is_selected = () not in metadata or _is_selected(metadata, ())
        if is_selected and not all(_is_selected(metadata, path) for path in metadata):
            return None
        found[entry["tap_stream_id"]] = is_selected
    return found


def _is_plain(metadata: Mapping[str, Any]) -> bool:
    said = [metadata.get(name) for name in ("selected", "selected-by-default")]
    inclusion = metadata.get("inclusion")
    return inclusion in (None, "available", "automatic") and all(
        value is None or isinstance(value, bool) for value in said
    )


def _is_selected(metadata: _Metadata, path: tuple[str, ...]) -> bool:
    """As the SDK resolves it: a part of what is deselected is so too."""
    if not metadata:
        return True
    own = metadata.get(path, {})
    parent = _is_selected(metadata, path[:-2]) if path else False
    if path and not parent:
        return False
    if own.get("inclusion") == "automatic":
        return True
    for name in ("selected", "selected-by-default"):
        if own.get(name) is not None:
            return bool(own[name])
    return parent
