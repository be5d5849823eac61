"""What is surely right in a plugin's settings."""

from __future__ import annotations

from typing import Any

import pytest

from singerlake.plugin.declared import SECRET, setting, surely_fits

TEXTS = setting("array", "Texts", "", items={"type": "string"})
SCHEMAS = {
    "text": setting("string", "Text", "", is_required=True),
    "object": setting("object", "Object", "", properties={}, additionalProperties=True, **SECRET),
    "texts": TEXTS,
    "one or some": setting(("string", "array"), "Both", "", items={"type": "string"}),
    "word": setting("string", "Word", "", enum=["a", "b"]),
    "count": setting("integer", "Count", "", minimum=1),
    "time": setting("string", "Time", "", format="date-time"),
}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", "x"),
        ("object", {"key": "x"}),
        ("object", None),
        ("texts", []),
        ("texts", ["x"]),
        ("one or some", "x"),
        ("one or some", ["x"]),
        ("word", "a"),
        ("count", 1),
        ("time", None),
    ],
)
def test_what_is_right_fits(name: str, value: Any) -> None:
    assert surely_fits(value, SCHEMAS[name])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("text", None),
        ("text", ["x"]),
        ("object", ["x"]),
        ("object", "x"),
        ("texts", "x"),
        ("texts", [1]),
        ("texts", [None]),
        ("word", "c"),
        ("word", ["a"]),
        ("count", 0),
        ("count", True),
        ("count", 1.0),
        ("count", float("nan")),
        ("time", "2026-01-01"),
    ],
)
def test_what_may_be_wrong_does_not(name: str, value: Any) -> None:
    assert not surely_fits(value, SCHEMAS[name])
