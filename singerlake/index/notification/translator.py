"""The translator: what an event in a bucket means to a lake, or to a datalake."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from singerlake.format import keys
from singerlake.format.keys import StreamObject, TapObject
from singerlake.format.run_keys import RunObject
from singerlake.index.notification.message import ObjectEvent

_UPLOAD = re.compile(r"[^/]+/data")


@dataclass(frozen=True)
class Hint:
    """Something was committed here; without a stream, in the tap."""

    tap: str
    stream: str | None


@dataclass(frozen=True)
class Uploaded:
    """A datalake client put an object here, or changed its metadata."""

    bucket: str
    key: str


class Translator:
    """`lake_url` and `uploads_url` say where the two are; what happens elsewhere means nothing."""

    def __init__(self, lake_url: str, uploads_url: str | None = None) -> None:
        self._lake = _place(lake_url)
        self._uploads = None if uploads_url is None else _place(uploads_url)

    def translate(self, event: ObjectEvent) -> Hint | Uploaded | None:
        inside = _below(self._lake, event)
        if inside is not None and (hint := _hint(inside)) is not None:
            return hint
        inside = _below(self._uploads, event)
        if inside is not None and event.created and _UPLOAD.fullmatch(inside):
            return Uploaded(event.bucket, event.key)
        return None


def _place(url: str) -> tuple[str, str]:
    """The bucket, and the prefix with its slash."""
    parts = urlsplit(url)
    prefix = parts.path.strip("/")
    return parts.netloc, f"{prefix}/" if prefix else ""


def _below(place: tuple[str, str] | None, event: ObjectEvent) -> str | None:
    """The key relative to a place; None where the object is elsewhere."""
    if place is None or event.bucket != place[0] or not event.key.startswith(place[1]):
        return None
    return event.key.removeprefix(place[1])


def _hint(key: str) -> Hint | None:
    """A commit replaces a manifest, a new stream a catalogue, the end of a run its log: of the
    rest, which is most objects, the feed has no need to hear."""
    found = keys.parse(key)
    if isinstance(found, StreamObject) and found.kind == "manifest":
        return Hint(found.keys.tap_id, found.keys.stream)
    if isinstance(found, TapObject | RunObject):
        return Hint(found.tap_id, None)
    return None
