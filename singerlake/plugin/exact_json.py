"""JSON as the Singer SDK writes it, but exact."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import simplejson  # type: ignore[import-untyped]


def _as_text(value: Any) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)


_encoder = simplejson.JSONEncoder(
    separators=(",", ":"), use_decimal=True, allow_nan=True, default=_as_text
)


def exact_json(content: Any) -> str:
    """JSON on one line. `NaN` and `Infinity` stay, as Python's own json has them, where the SDK
    writes `null`."""
    text: str = _encoder.encode(content)
    return text
