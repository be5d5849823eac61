"""From Arrow record batches to RECORD lines."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

from singerlake.errors import BadMessage
from singerlake.format import times
from singerlake.format.block import Summary
from singerlake.format.message import LONGEST

_encoder = msgspec.json.Encoder(decimal_format="string")
TIME, VERSION = "_time_extracted", "_version"
"""The columns that go to the messages."""


@dataclass(frozen=True)
class Lines:
    """Whole lines, and what they hold."""

    data: bytes
    summary: Summary


def encode(
    batches: Iterator[pa.RecordBatch], stream: str, columns: frozenset[str], now: datetime
) -> Iterator[Lines]:
    """RECORD lines with these columns in their records.

    A row's `_time_extracted` and `_version` are its message's, where the batch has them; a row
    without a time gets `now`.
    """
    for batch in map(_in_utc, batches):
        names = [name for name in batch.schema.names if name in columns]
        rows = batch.select(names).to_pylist(maps_as_pydicts="strict")
        moments = _column(batch, TIME) or [None] * len(rows)
        stored = [now if moment is None else times.in_utc(moment) for moment in moments]
        if not rows:
            continue
        versions = _column(batch, VERSION)
        lines = bytearray()
        for index, row in enumerate(rows):
            message = {"type": "RECORD", "stream": stream, "record": row}
            if versions and versions[index] is not None:
                message["version"] = versions[index]
            message["time_extracted"] = times.rfc3339(stored[index])
            lines += _line(message)
        yield Lines(bytes(lines), Summary(len(rows), len(rows), min(stored), max(stored)))


def _in_utc(batch: pa.RecordBatch) -> pa.RecordBatch:
    """The same moments in UTC.

    In the session's zone an old time may be some seconds off a whole minute, which an offset in
    JSON cannot tell.
    """
    fields = [field.with_type(_utc_type(field.type)) for field in batch.schema]
    columns = [
        column if column.type.equals(field.type) else column.cast(field.type)
        for column, field in zip(batch.columns, fields, strict=True)
    ]
    return pa.record_batch(columns, pa.schema(fields))


def _utc_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit, "UTC") if kind.tz else kind
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_utc_type(field.type)) for field in kind])
    if pa.types.is_map(kind):
        item = kind.item_field
        return pa.map_(kind.key_field, item.with_type(_utc_type(item.type)))
    if pa.types.is_list(kind):
        item = kind.value_field
        return pa.list_(item.with_type(_utc_type(item.type)))
    return kind


def _column(batch: pa.RecordBatch, name: str) -> list[Any] | None:
    index = batch.schema.get_field_index(name)
    return None if index < 0 else batch.column(index).to_pylist()


def _line(message: dict[str, Any]) -> bytes:
    if _has_strange_number(message["record"]):
        # msgspec writes null for NaN and Infinity; Python's own json, which readers follow, has
        # words for them.
        line = json.dumps(message, default=_plain, ensure_ascii=False).encode()
    else:
        line = _encoder.encode(message)
    if len(line) > LONGEST:
        raise BadMessage(
            f"a row of stream {message['stream']!r} makes a line of {len(line)} bytes, where the "
            f"lake takes {LONGEST}: split it. Nothing was committed"
        )
    return line + b"\n"


def _has_strange_number(value: Any) -> bool:
    if isinstance(value, float):
        return not math.isfinite(value)
    if isinstance(value, dict):
        return any(map(_has_strange_number, value.values()))
    return isinstance(value, list) and any(map(_has_strange_number, value))


def _plain(value: Any) -> str:
    """What Python's json has no form for, in the form that msgspec gives it."""
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (date, Decimal)):
        return str(value)
    raise TypeError(f"a {type(value).__name__} has no form in JSON")
