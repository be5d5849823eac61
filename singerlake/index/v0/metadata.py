"""Metadata of a file in version 0: that of an entry, and that of an upload, validated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from singerlake.errors import BadUpload
from singerlake.index.entry import Entry
from singerlake.index.v0.moment import iso, parse_ms, to_ms
from singerlake.index.v0.slug import to_slug

VERSION = 0

_REQUIRED = ("version", "start", "where", "what", "id", "hash", "path")
_SLUG = re.compile(r"[a-z0-9_-]+")
_ABSOLUTE = re.compile(r"/|[A-Za-z]:\\.")
_LONGEST_ID = 1024


def metadata_of(entry: Entry) -> dict[str, Any]:
    """As records show it. A vacuum changes nothing here: `path` says which commit, not which
    object."""
    if entry.upload is not None:
        found = dict(entry.upload.metadata)
    else:
        where, what = to_slug(entry.tap), to_slug(entry.stream)
        number = f"{entry.sequence:012d}"
        name = f"{number}.singer" if not entry.ordinal else f"{number}/{entry.ordinal}"
        found = {
            "version": VERSION,
            "id": entry.id,
            "what": what,
            "where": where,
            "start": to_ms(entry.start),
            "end": to_ms(entry.end),
            "work_id": to_slug(entry.run_id) if entry.run_id else None,
            "hash": entry.hash,
            "path": f"/{where}/{what}/{entry.log_id}/{name}",
        }
    found["start_iso"] = iso(found["start"])
    found["end_iso"] = None if found["end"] is None else iso(found["end"])
    return found


def validated(given: object, now: datetime, id: str | None = None) -> dict[str, Any]:
    """The metadata of an upload, its times as milliseconds; those without an id get this one.

    Raises `BadUpload`.
    """
    if not isinstance(given, Mapping):
        raise BadUpload("expected the metadata to be a JSON object")
    found = {"id": id, "version": VERSION, **given}
    for name in _REQUIRED:
        if found.get(name) is None:
            raise BadUpload(f'"{name}" is a required field')
    if isinstance(found["version"], bool) or found["version"] != VERSION:
        raise BadUpload(f"expected version {VERSION} of the metadata, found {found['version']!r}")
    _require_texts(found)
    try:
        found["start"] = parse_ms(found["start"], now)
        end = found.get("end")
        found["end"] = None if end is None else parse_ms(end, now)
    except ValueError as error:
        raise BadUpload(f"start or end: {error}") from None
    if found["end"] is not None and found["end"] < found["start"]:
        raise BadUpload('"end" must not be before "start"')
    return found


def _require_texts(found: Mapping[str, Any]) -> None:
    if "work_id" not in found:
        raise BadUpload('"work_id" is required, but it may be null')
    for name in ("what", "where", "work_id"):
        value = found[name]
        if value is None and name == "work_id":
            continue
        if not isinstance(value, str) or _SLUG.fullmatch(value) is None:
            raise BadUpload(
                f'"{name}": expected lower-case letters, digits, _ and -, found {value!r}'
            )
    if found["work_id"] == "null":
        raise BadUpload('"work_id" cannot be the text "null"')
    for name in ("id", "hash", "path"):
        if not isinstance(found[name], str):
            raise BadUpload(f'"{name}": expected a text, found {found[name]!r}')
    if not 0 < len(found["id"]) <= _LONGEST_ID:
        raise BadUpload(f'"id": expected 1 to {_LONGEST_ID} characters')
    if _ABSOLUTE.match(found["path"]) is None:
        raise BadUpload(f'"path": expected an absolute path, found {found["path"]!r}')
