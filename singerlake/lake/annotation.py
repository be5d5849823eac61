"""What people write about a tap in the lake document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from singerlake.errors import UnknownTap
from singerlake.format import keys as key_names
from singerlake.format import lake_document
from singerlake.lake import registry, unknown
from singerlake.store import Store


def annotate(
    store: Store, tap_id: str, changes: Mapping[str, Any], tags: Mapping[str, Any]
) -> None:
    """Change these annotations and tags of a tap, and nothing else. Raises `UnknownTap`.

    A tag whose value is None is taken away.
    """

    def change(data: bytes | None) -> bytes | None:
        where = f"{store.url}/{key_names.LAKE_DOCUMENT}"
        body = {"taps": {}} if data is None else lake_document.decode(data, where)
        if tap_id not in body["taps"]:
            error = unknown.unknown_tap(where, tap_id, body["taps"])
            raise UnknownTap(f"{error}; `singerlake rebuild` adds those that have files")
        changed = lake_document.annotated(body, tap_id, changes, tags)
        return lake_document.encode(changed) if changed != body else None

    registry.update(store, key_names.LAKE_DOCUMENT, change)
