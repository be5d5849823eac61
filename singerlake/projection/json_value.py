"""Arrow values as plain JSON, for formats that have no types of their own: csv and json."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa

_encoder = msgspec.json.Encoder(decimal_format="number")


def is_nested(kind: Any) -> bool:
    return bool(pa.types.is_nested(kind))


def rows(batch: Any) -> list[dict[str, Any]]:
    """A batch's rows as Python values; a map is a dict, and a time with a zone is in UTC."""
    return list(batch.to_pylist(maps_as_pydicts="strict"))


def encode(value: Any) -> bytes:
    """One line of JSON. Decimals keep their digits; NaN and infinities, which JSON lacks, are
    null."""
    return _encoder.encode(value)


def texts(column: Any) -> Any:
    """A column of JSON texts in the place of a nested column."""
    values = column.to_pylist(maps_as_pydicts="strict")
    return pa.array(
        [None if value is None else encode(value).decode() for value in values], pa.string()
    )


def decode(text: bytes | str) -> Any:
    """What `encode` made, with every number exact."""
    return json.loads(text, parse_float=Decimal)


def typed(value: Any, kind: Any) -> Any:
    """A decoded JSON value as Arrow wants it for a type."""
    if value is None:
        return None
    if pa.types.is_struct(kind):
        return {field.name: typed(value.get(field.name), field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, typed(item, kind.item_type)) for key, item in value.items()]
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return [typed(item, kind.value_type) for item in value]
    return _typed_scalar(value, kind)


def _typed_scalar(value: Any, kind: Any) -> Any:
    if pa.types.is_timestamp(kind):
        moment = datetime.fromisoformat(value.replace("Z", "+00:00"))
        return moment if moment.tzinfo is None else moment.astimezone(timezone.utc)
    if pa.types.is_date(kind):
        return datetime.strptime(value, "%Y-%m-%d").date()
    if pa.types.is_decimal(kind):
        return Decimal(value)
    if pa.types.is_floating(kind):
        return float(value)
    if pa.types.is_string(kind) and not isinstance(value, str):
        return encode(value).decode()
    return value
