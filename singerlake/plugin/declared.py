"""Settings as plugins declare them: JSON schemas as the Singer SDK has them, without the SDK."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

SECRET = {"secret": True, "writeOnly": True}
"""What marks a setting as one that is never printed."""

_KINDS: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "object": dict,
    "array": list,
}
_RULES = {"minimum", "maximum", "items", "enum"}
_WORDS = {"type", "title", "description", "default", "properties", "additionalProperties", *SECRET}


def setting(
    kind: str | Sequence[str],
    title: str,
    description: str,
    *,
    default: Any = None,
    is_required: bool = False,
    **rules: Any,
) -> dict[str, Any]:
    """The schema of one setting. One that is not required may be null, which is as if unset."""
    kinds = [kind] if isinstance(kind, str) else [*kind]
    schema = {"type": kinds if is_required else [*kinds, "null"], **rules, "title": title}
    if default is not None:
        schema["default"] = default
    return schema | {"description": description}


def settings(*required: str, **properties: dict[str, Any]) -> dict[str, Any]:
    """The schema of all settings of a plugin."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    }


def defaults(of: Mapping[str, Any]) -> dict[str, Any]:
    """The defaults of a plugin's settings."""
    found = of["properties"].items()
    return {name: setting["default"] for name, setting in found if "default" in setting}


def surely_fit(config: Mapping[str, Any], of: Mapping[str, Any]) -> bool:
    """Whether all of a plugin's settings are right beyond doubt, and none is missing."""
    properties = of["properties"]
    return all(config.get(name) is not None for name in of["required"]) and all(
        surely_fits(value, properties[name]) for name, value in config.items() if name in properties
    )


def surely_fits(value: Any, schema: Mapping[str, Any]) -> bool:
    """Whether a value that came from JSON is right beyond doubt.

    Where this is false, a validator decides, and has the words for what is wrong.
    """
    kinds = [schema["type"]] if isinstance(schema["type"], str) else schema["type"]
    if value is None:
        return "null" in kinds
    if not schema.keys() <= _WORDS | _RULES or schema.get("properties"):
        return False
    if value not in schema.get("enum", [value]):
        return False
    if isinstance(value, list):
        items = schema.get("items")
        return (
            "array" in kinds and items is not None and all(surely_fits(one, items) for one in value)
        )
    names = [name for name in kinds if name in _KINDS and isinstance(value, _KINDS[name])]
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, int | float):
        least, most = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        # Not by `isfinite`, which stumbles over integers that no float holds.
        return bool(names) and -math.inf < value < math.inf and least <= value <= most
    return bool(names)
