"""An upload: a file that a datalake client put into a bucket, as an entry of the index."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec

from singerlake.errors import BadUpload
from singerlake.index.entry import Entry, Upload, micros
from singerlake.index.storage.row import upload_sequence
from singerlake.index.v0.metadata import validated
from singerlake.index.v0.slug import from_slug

METADATA = "datalake"
"""The name of the object's metadata: the header is `x-amz-meta-datalake`."""


def parse_metadata(text: str | None, now: datetime, id: str | None = None) -> dict[str, Any]:
    """What the header of an upload says; see `validated`. Raises `BadUpload`."""
    if text is None:
        raise BadUpload(f"the object has no metadata x-amz-meta-{METADATA}")
    try:
        given = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        raise BadUpload(f"x-amz-meta-{METADATA}: expected JSON, found {text[:100]!r}") from None
    return validated(given, now, id)


def entry_of(url: str, metadata: dict[str, Any], size: int, created: datetime) -> Entry:
    """The entry of an object at an address, whose metadata were validated."""
    start, end = metadata["start"], metadata["end"]
    work_id = metadata["work_id"]
    return Entry(
        id=metadata["id"],
        tap=from_slug(metadata["where"]),
        stream=from_slug(metadata["what"]),
        log_id="",
        sequence=upload_sequence(metadata["id"]),
        run_id=None if work_id is None else from_slug(work_id),
        start=start * 1000,
        end=(start if end is None else end) * 1000,
        hash=metadata["hash"],
        size=size,
        create_time=micros(created),
        path=url,
        upload=Upload(url=url, metadata=metadata),
    )
