"""Batches brought to a wider record type: as rows that were written before the columns grew."""

from __future__ import annotations

import json
import math
from contextlib import suppress
from datetime import datetime, time, timezone
from typing import Any

import pyarrow as pa

from singerlake.format.record_type import NULL, Type
from singerlake.projection import json_value
from singerlake.projection.untyped import STRINGS


def conformed(batch: Any, schema: Any, was: Type, now: Type) -> Any:
    """The batch, whose record type `was`, with the columns of the schema, whose record type is
    `now`: null where it has none, converted where it must be."""
    kinds = dict(was.fields)
    columns = [
        _converted(batch.column(at), field.type, kinds[field.name], kind)
        if (at := batch.schema.get_field_index(field.name)) >= 0
        else pa.nulls(batch.num_rows, field.type)
        for field, (_, kind) in zip(schema, now.fields, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _converted(column: Any, arrow: Any, was: Type, now: Type) -> Any:
    if not _is_told_anew(was, now):
        # A struct with a new field, say, cannot be cast: value by value, then.
        with suppress(pa.ArrowNotImplementedError, pa.ArrowInvalid):
            return column if column.type == arrow else column.cast(arrow)
    values = column.to_pylist(maps_as_pydicts="strict")
    return pa.array([_told(value, was, now) for value in values], arrow)


def _is_told_anew(was: Type, now: Type) -> bool:
    """Whether a value within becomes a text or JSON: Arrow would write it in its own way."""
    if was.kind == now.kind == "struct":
        kinds = dict(was.fields)
        return any(name in kinds and _is_told_anew(kinds[name], new) for name, new in now.fields)
    if was.kind == now.kind and was.items is not None and now.items is not None:
        return _is_told_anew(was.items, now.items)
    # Nobody knows what a string without a mark is: it stays.
    return was.kind == "null" or (now.kind in STRINGS and was.kind not in ("string", now.kind))


def _told(value: Any, was: Type, now: Type) -> Any:
    """A value of one type as one of a wider type."""
    if value is None:
        return None
    if now.kind in STRINGS:
        as_json = now.kind == "json" and was.kind not in ("json", "null", "string")
        return json_value.encode(value).decode() if as_json else _text(value)
    if was.kind == "null":
        return None  # No run publishes this today: `document.require_typed` refuses it.
    if now.kind == "struct":
        kinds = dict(was.fields)
        return {n: _told(value.get(n), kinds.get(n, NULL), new) for n, new in now.fields}
    if was.items is not None and now.items is not None:
        if now.kind == "map":
            return [(key, _told(item, was.items, now.items)) for key, item in value.items()]
        return [_told(item, was.items, now.items) for item in value]
    return _wider(value, now)


def _wider(value: Any, now: Type) -> Any:
    if now.kind == "double":
        return float(value)
    if now.kind == "timestamp" and not isinstance(value, datetime):
        return datetime.combine(value, time(), timezone.utc)
    return value


def _text(value: Any) -> str:
    """A string stands for itself, anything else as its JSON text; a time without quotes."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return json.dumps(value)
    return json_value.encode(value).decode().strip('"')
