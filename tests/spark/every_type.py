"""A stream with every type of the mapping, and what its rows have to be."""

from __future__ import annotations

from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

UTC = timezone.utc

PROPERTIES: dict[str, Any] = {
    "id": {"type": "integer"},
    "string": {"type": ["null", "string"]},
    "boolean": {"type": ["null", "boolean"]},
    "integer": {"type": ["null", "integer"]},
    "big": {"type": ["null", "integer"], "maximum": 2**70},
    "number": {"type": ["null", "number"]},
    "cents": {"type": ["null", "number"], "multipleOf": 0.01},
    "exact": {
        "type": ["null", "string"],
        "format": "singer.decimal",
        "precision": 20,
        "scale": 4,
    },
    "free": {"type": ["null", "string"], "format": "singer.decimal"},
    "moment": {"type": ["null", "string"], "format": "date-time"},
    "day": {"type": ["null", "string"], "format": "date"},
    "clock": {"type": ["null", "string"], "format": "time"},
    "any": {},
    "mixed": {"type": ["null", "string", "integer"]},
    "object": {
        "type": ["null", "object"],
        "properties": {
            "a": {"type": "integer"},
            "day": {"type": "string", "format": "date"},
            "deep": {"type": "object", "properties": {"b": {"type": "array", "items": {}}}},
        },
    },
    "map": {"type": ["null", "object"], "additionalProperties": {"type": "number"}},
    "bag": {"type": ["null", "object"]},
    "list": {"type": ["null", "array"], "items": {"type": ["null", "string"]}},
    "times": {"type": ["null", "array"], "items": {"type": "string", "format": "date-time"}},
    "things": {"type": ["null", "array"]},
    "reference": {"$ref": "#/definitions/thing"},
    "either": {"anyOf": [{"type": "string", "format": "date-time"}, {"type": "null"}]},
    "both": {"allOf": [{"type": ["null", "integer"]}, {"minimum": 0}]},
    "größe": {"type": ["null", "string"]},
    'odd "name`': {"type": ["null", "string"]},
}

RECORD = """{"id": 1, "string": "é\\n", "boolean": true, "integer": 9223372036854775807,
 "big": 1180591620717411303424, "number": 0.1, "cents": 12.30, "exact": "1234567890123456.7890",
 "free": "1.2300", "moment": "2026-11-16T04:54:14.5+02:00", "day": "2026-11-16",
 "clock": "12:00:00", "any": {"x": [1.10]}, "mixed": 5,
 "object": {"a": 1, "day": "2026-11-17", "deep": {"b": [1, "2"]}}, "map": {"k": 1.5, "l": null},
 "bag": {"z":  1e2}, "list": ["a", null], "times": ["2026-11-16T00:00:00Z"], "things": [1,"2"],
 "reference": 7, "either": "2026-11-16T00:00:00", "both": 3, "größe": "groß",
 "odd \\"name`": "odd"}""".replace("\n", "")

EXPECTED: dict[str, Any] = {
    "id": 1,
    "string": "é\n",
    "boolean": True,
    "integer": 2**63 - 1,
    "big": Decimal(2**70),
    "number": 0.1,
    "cents": Decimal("12.30"),
    "exact": Decimal("1234567890123456.7890"),
    "free": "1.2300",
    "moment": datetime(2026, 11, 16, 2, 54, 14, 500000, tzinfo=UTC),
    "day": date(2026, 11, 16),
    "clock": "12:00:00",
    "any": '{"x": [1.10]}',
    "mixed": "5",
    "object": {"a": 1, "day": date(2026, 11, 17), "deep": {"b": '[1, "2"]'}},
    "map": {"k": 1.5, "l": None},
    "bag": '{"z":  1e2}',
    "list": ["a", None],
    "times": [datetime(2026, 11, 16, tzinfo=UTC)],
    "things": '[1,"2"]',
    "reference": "7",
    "either": datetime(2026, 11, 16, tzinfo=UTC),
    "both": 3,
    "größe": "groß",
    'odd "name`': "odd",
}
EMPTY: dict[str, Any] = {**dict.fromkeys(EXPECTED), "id": 2}

MISFIT = '{"id": 3, "integer": 1.5, "number": "x", "day": "tomorrow", "list": [1], "both": 4}'
MISFIT_EXPECTED: dict[str, Any] = {**dict.fromkeys(EXPECTED), "id": 3, "list": [None], "both": 4}
