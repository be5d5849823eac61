"""A record: an entry as the v0 API shows it."""

from __future__ import annotations

from typing import Any

from singerlake.index.entry import Entry
from singerlake.index.v0.metadata import metadata_of
from singerlake.index.v0.moment import to_ms


def record_of(entry: Entry, http_url: str, lake_url: str) -> dict[str, Any]:
    """`url` is where a client may fetch the bytes: the object of an upload, and `http_url` for a
    file of the lake, whose object may hold other commits too. `lake` has what no datalake has."""
    record = {
        "url": http_url if entry.upload is None else entry.upload.url,
        "http_url": http_url,
        "create_time": to_ms(entry.create_time),
        "size": entry.size,
        "metadata": metadata_of(entry),
    }
    if entry.upload is None:
        record["lake"] = {
            "tap": entry.tap,
            "stream": entry.stream,
            "sequence": entry.sequence,
            "ordinal": entry.ordinal,
            "run_id": entry.run_id,
            "records": entry.records,
            "schema_hash": entry.schema_hash,
            "schema_version": entry.version,
            "object": f"{lake_url}/{entry.key}",
            "is_merged": entry.merged,
        }
    return record
