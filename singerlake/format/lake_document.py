"""The lake document: which taps there are, and what people wrote about them.

Programs add taps to it; the annotations belong to people. Whatever stands in the document and is
not ours is kept as it is, keys in their order.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from singerlake.format import document, times

KIND = "singerlake.lake"

READ_ONLY = "read-only"
"""The status of a lake in which nothing may be changed. Any lake without a status may be."""

ANNOTATIONS = {"owner": "", "description": "", "documentation": "", "job": "", "tags": {}}
"""What a new tap's entry invites people to fill in."""


LANDED = "landed"
"""Since when a tap has commits, in its entry: the end of the first run that had some."""

VANISHED = "vanished"
"""When a run found nothing of a tap that has commits, in its entry."""


def new(lake_id: str, created: datetime) -> dict[str, Any]:
    """The document of an empty lake. `lake_id` tells this lake from every other."""
    return {
        "format": KIND,
        "format_version": document.VERSION,
        "lake_id": lake_id,
        "created": times.rfc3339(created),
        "taps": {},
    }


def decode(data: bytes, where: str) -> dict[str, Any]:
    """Raises `CorruptDocument` and `UnsupportedFormat`."""
    body = document.decode_object(data, KIND, where)
    taps = body.get("taps")
    if not isinstance(taps, dict) or not all(isinstance(tap, dict) for tap in taps.values()):
        raise document.corrupt(KIND, where, "no `taps` object, with an object for each tap")
    if not isinstance(body.get("lake_id"), str):
        raise document.corrupt(KIND, where, "no `lake_id`")
    return body


def encode(body: dict[str, Any]) -> bytes:
    return document.encode_object(body)


def decode_head(data: bytes, where: str) -> dict[str, Any]:
    """What a document says of the lake itself, also where its taps cannot be read.

    Raises `CorruptDocument` and `UnsupportedFormat`.
    """
    return document.decode_object(data, KIND, where)


def status(body: Mapping[str, Any]) -> str:
    """`READ_ONLY`, or what a newer program may have set; "" where the lake may be written."""
    return _text(body.get("status"))


def status_reason(body: Mapping[str, Any]) -> str:
    """Why, as somebody wrote it."""
    return _text(body.get("status_reason"))


def with_status(body: Mapping[str, Any], status: str, reason: str = "") -> dict[str, Any]:
    """The document with this status in front of the taps; "" takes it away."""
    told = {"status": status, "status_reason": reason}
    kept = {name: value for name, value in body.items() if name not in told}
    taps = {"taps": kept.pop("taps")} if "taps" in kept else {}
    return {**kept, **{name: value for name, value in told.items() if value}, **taps}


def _text(value: Any) -> str:
    return "" if value is None else str(value)


def with_taps(body: dict[str, Any], tap_ids: Iterable[str]) -> dict[str, Any]:
    """The document with these taps in it; taps that are there already keep what they have."""
    changed = copy.deepcopy(body)
    for tap_id in tap_ids:
        changed["taps"].setdefault(tap_id, copy.deepcopy(ANNOTATIONS))
    return changed


def has_landed(body: Mapping[str, Any] | None, tap_id: str) -> bool:
    """Whether a run has committed something to the tap: then it has a folder, or has lost it."""
    return bool(_note(body, tap_id, LANDED))


def vanished(body: Mapping[str, Any] | None, tap_id: str) -> str:
    """When a run found nothing of the tap any more; "" where none did."""
    return _text(_note(body, tap_id, VANISHED))


def noting(body: dict[str, Any], tap_id: str, **moments: datetime | None) -> dict[str, Any]:
    """The document with these in the tap's entry, as far as it has none yet; None takes one
    away."""
    changed = with_taps(body, [tap_id])
    entry = changed["taps"][tap_id]
    for name, moment in moments.items():
        if moment is None:
            entry.pop(name, None)
        else:
            entry.setdefault(name, times.rfc3339(moment))
    return changed


def _note(body: Mapping[str, Any] | None, tap_id: str, name: str) -> Any:
    return None if body is None else body["taps"].get(tap_id, {}).get(name)


def annotated(
    body: dict[str, Any], tap_id: str, changes: Mapping[str, Any], tags: Mapping[str, Any]
) -> dict[str, Any]:
    """The document with these annotations and tags of a tap, which must be in it.

    A tag whose value is None is taken away. Whatever is not named stays.
    """
    changed = copy.deepcopy(body)
    notes = changed["taps"][tap_id]
    notes.update(changes)
    if tags:
        known = notes.get("tags")
        merged = {**(known if isinstance(known, dict) else {}), **tags}
        notes["tags"] = {name: value for name, value in merged.items() if value is not None}
    return changed
