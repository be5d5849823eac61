"""One JSON Schema for all versions of a stream: for targets, which know one schema at a time.

The union allows every record that its own version allows, as far as properties are declared. Its
types are those that Spark's columns have (`record_type.union`): an integer that became a number is
a number. Records stay as they are, so a column that became text holds numbers and strings: its
`type` lists both, `string` first. SQL targets make a text column of it: singer-sdk of any list of
several types, target-postgres of a list with `string`, others of the first that is not null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from singerlake.errors import ConfigError
from singerlake.format import json_schema
from singerlake.format.record_type import Type
from singerlake.format.record_type import union as union_of_types
from singerlake.format.schema import Schema

Part = Any
"""What a version says of a value: a JSON Schema."""

_ORDER = ("null", "string", "number", "integer", "boolean", "object", "array")
_ANYTHING = frozenset(_ORDER)
_EITHER = ("anyOf", "oneOf")
_BRANCHES = (*_EITHER, "then", "else")
_DEFINITIONS = ("definitions", "$defs")
_DECIMALS = ("singer.decimal", "x-singer.decimal")
_FORMATS = {"timestamp": "date-time", "date": "date"}

_KEPT = ("multipleOf", "pattern", "const", "uniqueItems", "contentEncoding", "contentMediaType")
"""Words that stay where all versions say the same; what a version lacks, no other may demand."""

_WIDENED: dict[str, Callable[[Sequence[Any]], Any]] = {
    "minimum": min,
    "exclusiveMinimum": min,
    "minLength": min,
    "minItems": min,
    "maximum": max,
    "exclusiveMaximum": max,
    "maxLength": max,
    "maxItems": max,
}
"""Limits that stay where all versions set them, as wide as the widest."""


def union(versions: Sequence[Schema]) -> Schema:
    """The union of versions, given from the oldest to the newest; the last is the one in use.

    It has the key properties of the last. Raises `ConfigError` where a version does not declare
    them all: its records have no such key, and no target can take them under it.
    """
    newest = versions[-1]
    roots = [version.schema for version in versions]
    if all(root == newest.schema for root in roots):
        return newest
    for version in versions:
        _require_keys(version, newest)
    definitions = _common(roots, _DEFINITIONS)
    if any(word in root and word not in definitions for root in roots for word in _DEFINITIONS):
        roots = [_without_references(root) for root in roots]
    merged = {"type": "object", **definitions, **_described(roots), **_struct(roots)}
    return Schema(merged, newest.key_properties)


def _require_keys(version: Schema, newest: Schema) -> None:
    keys, declared = newest.key_properties, _members(version.schema)
    lacking = [key for key in keys if key not in declared]
    if lacking and list(keys) != list(version.key_properties):
        raise ConfigError(
            f"the key properties are {', '.join(keys)} now, and the schema version "
            f"{version.hash()} has no {', '.join(lacking)}: no one schema holds its records; "
            "replay the versions one by one, by their hashes"
        )


def _without_references(part: Part) -> Part:
    """The schema without what it leaves to definitions, which differ among versions."""
    if isinstance(part, list):
        return [_without_references(one) for one in part]
    if not isinstance(part, Mapping):
        return part
    return {} if "$ref" in part else {k: _without_references(v) for k, v in part.items()}


def _merged(parts: Sequence[Part], everywhere: bool = True) -> Part:
    """One schema for a value that is declared so; null too, where not `everywhere`."""
    if all(part == parts[0] for part in parts):
        return parts[-1] if everywhere else _nullable(parts[-1])
    kind = union_of_types([json_schema.of(part) for part in parts])
    names = frozenset[str]().union(*map(_names, parts), () if everywhere else ("null",))
    if kind.kind == "text" and names != _ANYTHING:
        names |= {"string"}  # values of several kinds in one column: as text, as in Spark
    made: dict[str, Any] = {} if names == _ANYTHING else {"type": _ordered(names)}
    made |= _described(parts) | _common(parts, _KEPT) | _limits(parts)
    if kind.kind == "struct":
        return made | _struct(parts)
    if kind.kind == "array":
        return made | {"items": _merged(list(_inner(parts, "items")))}
    if kind.kind == "map":
        return made | {"additionalProperties": _merged(list(_inner(parts, "additionalProperties")))}
    return made | _format(parts, kind, names)


def _struct(parts: Sequence[Part]) -> dict[str, Any]:
    """The properties of objects, each merged; the oldest come first, as in Spark."""
    members = [_members(part) for part in parts]
    declared = {name: None for found in members for name in found}
    properties = {
        name: _merged(
            [part for found in members for part in found.get(name, ())],
            everywhere=all(name in found for found in members),
        )
        for name in declared
    }
    wanted = [_required(part) for part in parts]
    required = [name for name in wanted[0] if all(name in names for names in wanted)]
    closed = all(map(_is_closed, map(_resolved, parts)))
    return (
        {"properties": properties}
        | ({"required": required} if required else {})
        | ({"additionalProperties": False} if closed else {})
    )


def _is_closed(schema: Mapping[str, Any]) -> bool:
    """Whether an object has the named properties alone: a pattern names more, and is not merged."""
    return schema.get("additionalProperties") is False and not schema.get("patternProperties")


def _members(part: Part) -> dict[str, list[Part]]:
    """What a schema says of each property: its own word, or else those of its branches."""
    schema = _resolved(part)
    properties = schema.get("properties")
    own = dict(properties) if isinstance(properties, Mapping) else {}
    found = {str(name): [inner] for name, inner in own.items()}
    for branch in _branches(schema, _BRANCHES):
        for name, inner in _members(branch).items():
            if name not in own:
                found.setdefault(name, []).extend(inner)
    return found


def _inner(parts: Sequence[Part], word: str) -> Iterator[Part]:
    """What the schemas say of the elements of an array, or of the values of a map."""
    for part in parts:
        schema = _resolved(part)
        if word in schema:
            yield schema[word]
        yield from _inner(list(_branches(schema, _EITHER)), word)


def _names(part: Part) -> frozenset[str]:
    """The JSON types that a schema allows."""
    if part is False:
        return frozenset()
    schema = _resolved(part)
    declared = schema.get("type")
    if isinstance(declared, str | list):
        listed = [declared] if isinstance(declared, str) else declared
        return frozenset(name for name in listed if isinstance(name, str))
    branches = list(_branches(schema, _EITHER))
    if branches and "$ref" not in schema:
        return frozenset[str]().union(*map(_names, branches))
    return _ANYTHING


def _resolved(part: Part) -> Mapping[str, Any]:
    """The schema with its `allOf` drawn together."""
    schema: Mapping[str, Any] = part if isinstance(part, Mapping) else {}
    while isinstance(schema.get("allOf"), list):
        schema = json_schema.all_of(schema)
    return schema


def _branches(schema: Mapping[str, Any], words: Sequence[str]) -> Iterator[Part]:
    for word in words:
        found = schema.get(word)
        yield from found if isinstance(found, list) else [found] if found is not None else []


def _required(part: Part) -> list[str]:
    found = _resolved(part).get("required")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _ordered(names: frozenset[str]) -> list[str]:
    """A number may be an integer: both are a number."""
    drop = {"integer"} if "number" in names else set()
    unknown = sorted(map(str, names - _ANYTHING))
    return [name for name in (*_ORDER, *unknown) if name in names - drop]


def _nullable(part: Part) -> Part:
    declared = part.get("type") if isinstance(part, Mapping) else None
    if not isinstance(declared, str | list) or "null" in declared or "enum" in part:
        return part
    names = [declared] if isinstance(declared, str) else declared
    return {**part, "type": ["null", *names]}


def _described(parts: Sequence[Part]) -> dict[str, Any]:
    """What people read, as the newest version has it."""
    newest = parts[-1] if isinstance(parts[-1], Mapping) else {}
    return {word: newest[word] for word in ("title", "description") if word in newest}


def _common(parts: Sequence[Part], words: Sequence[str]) -> dict[str, Any]:
    """The words that all have, with the same value."""
    first, *others = (part if isinstance(part, Mapping) else {} for part in parts)
    return {
        word: first[word]
        for word in words
        if word in first and all(word in one and one[word] == first[word] for one in others)
    }


def _limits(parts: Sequence[Part]) -> dict[str, Any]:
    made = {}
    for word, widest in _WIDENED.items():
        values = [part.get(word) if isinstance(part, Mapping) else None for part in parts]
        if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
            made[word] = widest(values)
    lists = [part.get("enum") if isinstance(part, Mapping) else None for part in parts]
    if all(isinstance(values, list) for values in lists):
        every = [value for values in lists if values for value in values]
        made["enum"] = list({json.dumps(value, sort_keys=True): value for value in every}.values())
    return made


def _format(parts: Sequence[Part], kind: Type, names: frozenset[str]) -> dict[str, Any]:
    """The format of a string that is one in all versions."""
    if not names <= {"null", "string"}:
        return {}
    if kind.kind == "decimal":
        said = [_resolved(part).get("format") for part in parts]
        form = next((one for one in reversed(said) if one in _DECIMALS), _DECIMALS[0])
        return {"format": form, "precision": kind.precision, "scale": kind.scale}
    if kind.kind in _FORMATS:
        return {"format": _FORMATS[kind.kind]}
    return _common(parts, ("format",)) if kind.kind == "string" else {}
