"""Where a consumer stands in a lake: in the engine, and at most once a minute in the lake too."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any

from singerlake.errors import AlreadyExists, Changed, ConfigError, NotFound, UnknownStream
from singerlake.format.consumer_keys import consumer
from singerlake.format.names import escape, unescape
from singerlake.lake import pins
from singerlake.lake.feed.bookmark import Bookmark
from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.lake import Lake
from singerlake.processor.engine.base import Engine
from singerlake.processor.event import decode_value

logger = logging.getLogger("singerlake.processor")


def key_of(tap: str, stream: str) -> str:
    """The key of a stream's events."""
    return f"{escape(tap)}/{escape(stream)}"


def stream_of(key: str) -> tuple[str, str]:
    """The tap and the stream of a key."""
    tap, _, stream = key.partition("/")
    return unescape(tap), unescape(stream)


def text_of(bookmark: Bookmark) -> str:
    """As an engine keeps it: equal bookmarks have equal texts."""
    return json.dumps(bookmark.to_json(), sort_keys=True, separators=(",", ":"))


def cursor_of(places: Mapping[str, str]) -> Cursor:
    return Cursor(
        {stream_of(key): Bookmark.parse(json.loads(text)) for key, text in places.items()}
    )


def beginning(lake: Lake, where: str) -> Cursor:
    """The cursor for `start`, `now`, or the name of a pin. Raises `ConfigError`."""
    if where == "start":
        return Cursor()
    if where == "now":
        found: dict[tuple[str, str], Bookmark] = {}
        for tap in lake.taps():
            for stream in tap.streams():
                try:
                    until = stream.increment().until
                except UnknownStream:
                    continue  # nothing was ever committed
                if until is not None:
                    found[tap.tap_id, stream.name] = until
        return Cursor(found)
    name = where.removeprefix("pin:")
    for pin in lake.pins():
        if pin.name == name:
            return pins.cursor(pin)
    raise ConfigError(f"expected start, now or the name of a pin to begin from, found {where!r}")


def read(lake: Lake, name: str) -> Cursor:
    """What was saved in the lake; an empty cursor where nothing was."""
    key = consumer(name)
    try:
        return Cursor.decode(lake.store.read(key).data, f"{lake.store.url}/{key}")
    except NotFound:
        return Cursor()


def save(lake: Lake, name: str, cursor: Cursor) -> None:
    """Keep the cursor in the lake. Where two save at once, either of them will do."""
    key, data = consumer(name), cursor.encode()
    try:
        found = lake.store.read(key)
    except NotFound:
        try:
            lake.store.create(key, data)
        except AlreadyExists:
            logger.debug("another processor has saved %s", key)
        return
    if found.data != data:
        try:
            lake.store.replace(key, data, found.version)
        except Changed:
            logger.debug("another processor has saved %s", key)


def acknowledged(engine: Engine, name: str) -> Cursor:
    """How far the events of a lake are processed: what waits, or is a dead letter, is not."""
    places = {key: text for key, text in engine.places(name).items() if not key.startswith("_")}
    unprocessed: dict[str, dict[str, Any]] = {}
    for state in engine.states():
        if state.key in places and state.head is not None:
            unprocessed[state.key] = decode_value(state.head.value)
    for letter in engine.dead():
        if letter.key in places and letter.entry.source:
            value = decode_value(letter.entry.value)
            known = unprocessed.get(letter.key)
            if known is None or value["first_sequence"] < known["first_sequence"]:
                unprocessed[letter.key] = value
    for key, value in unprocessed.items():
        places[key] = value["previous"]
    return cursor_of({key: text for key, text in places.items() if text})
