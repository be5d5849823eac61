"""Names, times and Singer lines for tests: what hypothesis makes, and what tests spell out."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

from hypothesis import strategies as st

from singerlake.format import record_type as types

EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)

ODD_NAMES = [
    ".",
    "..",
    "...",
    "../..",
    "../../etc/passwd",
    "/",
    "/etc/passwd",
    "\\",
    "..\\..",
    "C:\\",
    "\0",
    "a\0b",
    "\n",
    " ",
    "~",
    "!",
    "!2E",
    "%2e%2e%2f",
    "_hidden",
    "_segments",
    ".hidden",
    "a.",
    "manifest.json",
    "MANIFEST.JSON",
    "Catalogue.json",
    "CATALOGUE.JSON",
    "singerlake.json",
    "singerlake.lock",
    "public-orders",
    "Größe",
    "日本語",
    "🌊",
    "\ud800",
    "\udfff.",
    "a-20260101T000000Z-20260101T000000Z",
    "a-20260101T000000Z-20260101T000000Z-deadbeef.singer.gz",
    "x" * 180,
]

# By default hypothesis leaves surrogates out: taps can send them, as escapes.
_any_text = st.text(st.characters(), min_size=1, max_size=18)
_troublesome = st.text("./\\_-!%\0\n AaZz09é\ud800", min_size=1, max_size=18)

names = st.sampled_from(ODD_NAMES) | _troublesome | _any_text

moments = st.datetimes(
    min_value=datetime(1, 1, 2), max_value=datetime(9999, 12, 30), timezones=st.just(timezone.utc)
)

json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**63, max_value=2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda below: (
        st.lists(below, max_size=3) | st.dictionaries(st.text(max_size=8), below, max_size=3)
    ),
    max_leaves=8,
)

json_objects: st.SearchStrategy[dict[str, Any]] = st.dictionaries(
    st.text(max_size=8), json_values, max_size=4
)


def schema_line(
    stream: str = "s", schema: dict[str, Any] | None = None, keys: tuple[str, ...] = ("id",)
) -> bytes:
    """A SCHEMA message, without a line feed."""
    body = {"properties": {"id": {"type": "integer"}}} if schema is None else schema
    message = {"type": "SCHEMA", "stream": stream, "schema": body, "key_properties": list(keys)}
    return json.dumps(message).encode()


def record_line(
    stream: str = "s",
    record: bytes = b'{"id":1}',
    time_extracted: str | None = "2026-01-01T00:00:00Z",
) -> bytes:
    """A RECORD message around a record's own bytes, without a line feed."""
    head = b'{"type":"RECORD","stream":%s,"record":%s' % (json.dumps(stream).encode(), record)
    if time_extracted is None:
        return head + b"}"
    return head + b',"time_extracted":%s}' % json.dumps(time_extracted).encode()


TYPES = st.recursive(
    st.sampled_from(
        [types.LONG, types.DOUBLE, types.BOOLEAN, types.STRING, types.TIMESTAMP, types.DATE]
    )
    | st.tuples(st.integers(1, 38), st.integers(0, 38)).map(
        lambda digits: types.decimal(max(digits), digits[1] if digits[1] <= digits[0] else 0)
    ),
    lambda inner: (
        inner.map(types.array)
        | inner.map(types.mapping)
        | st.dictionaries(st.text(min_size=1, max_size=3), inner, min_size=1, max_size=3).map(
            types.struct
        )
    ),
    max_leaves=5,
)
