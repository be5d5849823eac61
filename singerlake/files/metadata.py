"""What is known of a file that is put: an ordinary record of an ordinary stream."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any

from singerlake.errors import ConfigError
from singerlake.format import times
from singerlake.format.blob import FORGOTTEN, MARK
from singerlake.lake.blobs.staged import Blob

_SLUG = re.compile(r"[a-z0-9_-]+", re.ASCII)
_NUMBER = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
_MILLISECONDS = 1e11
"""Numbers above this are milliseconds since 1970, others seconds."""

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TEXT = {"type": ["null", "string"]}
_TIME = {"type": ["null", "string"], "format": "date-time"}

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "name": _TEXT,
        "media_type": _TEXT,
        "size": {"type": ["null", "integer"]},
        "sha256": _TEXT,
        "start": _TIME,
        "end": _TIME,
        "work_id": _TEXT,
        "source": {**_TEXT, MARK: True},
        "meta": {"type": ["null", "object"], "additionalProperties": {"type": "string"}},
        "_sdc_deleted_at": _TIME,
    },
}
"""Of a stream that `put` writes; `source`, where a file came from, is what names it."""

KEY = ("id",)

LONGEST_WORK_ID = 256
"""Characters that every index takes."""


@dataclass(frozen=True)
class Metadata:
    """What the one who puts a file says about it.

    `start` and `end` are the time that it is about; `work_id` is the piece of work that made it;
    `meta` holds fields of the user's own.
    """

    start: datetime
    end: datetime | None = None
    work_id: str | None = None
    meta: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.end is not None and self.end < self.start:
            raise ConfigError(
                f"the end {times.rfc3339(self.end)} is before the start "
                f"{times.rfc3339(self.start)}: expected a later time, or none"
            )
        if self.work_id is not None:
            require_slug("work_id", self.work_id)
            if len(self.work_id) > LONGEST_WORK_ID:
                raise ConfigError(
                    f"the work_id has {len(self.work_id)} characters: expected at most "
                    f"{LONGEST_WORK_ID}"
                )
            if self.work_id == "null":
                raise ConfigError(
                    "the work_id 'null' is reserved: leave it out where there is none"
                )

    def record(self, unique: str, name: str, source: str, media: str | None, blob: Blob) -> Any:
        """The file's record."""
        return {
            "id": unique,
            "name": name,
            "media_type": media,
            "size": blob.size,
            "sha256": blob.sha256,
            "start": times.rfc3339(self.start),
            "end": None if self.end is None else times.rfc3339(self.end),
            "work_id": self.work_id,
            "source": source,
            "meta": dict(self.meta),
        }


def require_slug(what: str, value: str) -> str:
    """Raises `ConfigError` for what the index of another system could not take."""
    if not _SLUG.fullmatch(value):
        raise ConfigError(
            f"{what} is {value!r}: expected lower-case letters a to z, digits, - and _ only"
        )
    return value


def moment(text: str | float | datetime, now: datetime) -> datetime:
    """A time as people give it: ISO 8601, seconds or milliseconds since 1970, or `now`.

    Without a zone it is UTC. Raises `ConfigError`.
    """
    if isinstance(text, datetime):
        return times.in_utc(text)
    written = str(text).strip()
    if written == "now":
        return now
    try:
        if _NUMBER.fullmatch(written):
            number = float(written)
            seconds = number / 1000 if abs(number) > _MILLISECONDS else number
            return _EPOCH + timedelta(seconds=seconds)
        return times.parse_time(written)
    except (ValueError, OverflowError):
        raise ConfigError(
            f"{written!r} is no time: expected one like 2026-11-16T08:00Z, seconds or milliseconds "
            "since 1970, or now"
        ) from None


def schema_line(stream: str, schema: Mapping[str, Any], key: tuple[str, ...]) -> bytes:
    message = {"type": "SCHEMA", "stream": stream, "schema": schema, "key_properties": list(key)}
    return json.dumps(message, separators=(",", ":")).encode()


def record_line(stream: str, record: Mapping[str, Any]) -> bytes:
    """A RECORD line; the writer adds the time."""
    message = {"type": "RECORD", "stream": stream, "record": record}
    return json.dumps(message, separators=(",", ":")).encode()


def tombstone_line(
    stream: str, key: Mapping[str, Any], counts: Mapping[str, int], at: datetime
) -> bytes:
    """The RECORD line by which so many records with this key name these paths no more."""
    record = {**key, "_sdc_deleted_at": times.rfc3339(at)}
    message = {"type": "RECORD", "stream": stream, "record": record, FORGOTTEN: dict(counts)}
    return json.dumps(message, separators=(",", ":")).encode()
