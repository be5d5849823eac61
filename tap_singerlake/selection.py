"""What a catalog deselects, taken out of schemas and records.

The SDK looks into objects; what is in arrays, and what a schema declares as one of several, is
taken out here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from singer_sdk.helpers._catalog import get_selected_schema, pop_deselected_record_properties
from singer_sdk.singerlib import SelectionMask

Path = tuple[str, ...]
"""A breadcrumb: `properties` and a name for an object's member, `items` for an array's elements."""


def selected_schema(stream: str, schema: dict[str, Any], mask: SelectionMask) -> dict[str, Any]:
    """A copy of the schema, less what is deselected."""
    selected = get_selected_schema(stream, schema, mask)
    for path in (path for path, is_selected in mask.items() if path and not is_selected):
        _take_out_of_schema(selected, path)
    return selected


def take_out(record: dict[str, Any], mask: SelectionMask, paths: Sequence[Path]) -> None:
    """Take out of a record what is deselected; `paths` are those `in_arrays` of the same mask."""
    pop_deselected_record_properties(record, {}, mask)
    for path in paths:
        _take_out_of_value(record, path)


def in_arrays(mask: SelectionMask) -> list[Path]:
    """The deselected properties that may be in arrays; it does no harm if they are not."""
    return [path for path, selected in mask.items() if not selected and "items" in path]


def _take_out_of_schema(schema: Any, path: Path) -> None:
    if isinstance(schema, list):
        for branch in schema:
            _take_out_of_schema(branch, path)
        return
    if not isinstance(schema, dict):
        return
    for word in ("anyOf", "oneOf", "allOf"):
        _take_out_of_schema(schema.get(word), path)
    match path:
        case ("items", *rest):
            _take_out_of_schema(schema.get("items"), tuple(rest))
        case ("properties", name, *rest) if isinstance(schema.get("properties"), dict):
            if rest:
                _take_out_of_schema(schema["properties"].get(name), tuple(rest))
                return
            schema["properties"].pop(name, None)
            if isinstance(required := schema.get("required"), list) and name in required:
                required.remove(name)


def _take_out_of_value(value: Any, path: Path) -> None:
    match path:
        case ("items", *rest) if isinstance(value, list):
            for item in value:
                _take_out_of_value(item, tuple(rest))
        case ("properties", name) if isinstance(value, dict):
            value.pop(name, None)
        case ("properties", name, *rest) if isinstance(value, dict):
            _take_out_of_value(value.get(name), tuple(rest))
