"""What changed between two versions of a schema, as a person would read it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from singerlake.format.schema import Schema

Change = Literal["added", "removed", "changed"]

ITEMS = "[]"
"""The step of a path that leads to an array's items."""

DEPTH = 4
"""Levels of nesting that `describe` tells: nobody reads further, and taps nest without end."""

_UNORDERED = ("type", "required", "enum")
_IN_WORDS = frozenset({"type", "format", "enum", "const", "$ref", "anyOf", "oneOf"})
_VALUES = 5
"""Values of an enum that are told; the others are counted."""


@dataclass(frozen=True)
class Difference:
    """One property that was added, removed or changed, with its type in words.

    `path` holds property names, and `[]` for an array's items; it is empty for the stream itself
    and for its key. `before` is None for what was added, `after` for what was removed.
    """

    path: tuple[str, ...]
    change: Change
    before: str | None
    after: str | None


def differences(before: Schema, after: Schema) -> tuple[Difference, ...]:
    """What changed, by property: a property that comes or goes is told once, without its parts.

    None where the two are equal but for the order of properties, types, key properties, required
    names and allowed values.
    """
    found = list(_between(before.schema, after.schema))
    if sorted(before.key_properties) != sorted(after.key_properties):
        old, new = _key(before.key_properties), _key(after.key_properties)
        found.append(Difference((), "changed", old, new))
    return tuple(found)


def describe(fragment: Mapping[str, Any]) -> str:
    """A type in words: `string, date-time, or null`, `array of integer`, `object`."""
    return _words(fragment, DEPTH)


def _between(before: Any, after: Any) -> Iterator[Difference]:
    """Not by recursion: a tap may nest deeper than Python does."""
    waiting: list[tuple[tuple[str, ...], Any, Any]] = [((), before, after)]
    while waiting:
        path, old, new = waiting.pop()
        differing = _differing(old, new)
        if differing:
            old_words, new_words = _told(old, new, differing), _told(new, old, differing)
            yield Difference(path, "changed", old_words, new_words)
        old_parts, new_parts = _parts(old), _parts(new)
        deeper = []
        for name in (*old_parts, *(name for name in new_parts if name not in old_parts)):
            step = (*path, name)
            if name not in new_parts:
                yield Difference(step, "removed", describe(old_parts[name]), None)
            elif name not in old_parts:
                yield Difference(step, "added", None, describe(new_parts[name]))
            else:
                deeper.append((step, old_parts[name], new_parts[name]))
        waiting += reversed(deeper)


def _parts(fragment: Any) -> dict[str, Any]:
    """The properties and items of a fragment, which are compared on their own."""
    if not isinstance(fragment, Mapping):
        return {}
    properties, items = fragment.get("properties"), fragment.get("items")
    parts = dict(properties) if isinstance(properties, Mapping) else {}
    return parts | ({ITEMS: items} if isinstance(items, Mapping) else {})


def _differing(before: Any, after: Any) -> set[str]:
    """The keywords, other than those of the parts, in which two fragments differ."""
    old, new = _own(before), _own(after)
    return {name for name in old.keys() | new.keys() if old.get(name) != new.get(name)}


def _own(fragment: Any) -> dict[str, str]:
    """A fragment's keywords without its parts, each as a text that tells values apart."""
    if not isinstance(fragment, Mapping):
        return {"": _text(fragment)}  # JSON Schema allows true and false in place of a schema
    compared = {
        name
        for name in ("properties", "items")
        if isinstance(fragment.get(name), Mapping) and (fragment[name] or name == "items")
    }
    return {name: _text({name: value}) for name, value in fragment.items() if name not in compared}


def _text(value: Any) -> str:
    """Equal for values that are equal but for order: Python takes 1, 1.0 and true for equal."""
    ordered = json.loads(json.dumps(value), object_hook=_in_order)
    return json.dumps(ordered, sort_keys=True)


def _in_order(fragment: dict[str, Any]) -> dict[str, Any]:
    for name in _UNORDERED:
        if isinstance(fragment.get(name), list):
            fragment[name] = sorted(fragment[name], key=json.dumps)
    return fragment


def _told(fragment: Any, other: Any, differing: set[str]) -> str:
    """The type, and the keywords that differ where the type does not tell them."""
    words = describe(fragment)
    if not isinstance(fragment, Mapping):
        return words
    silent = differing - _IN_WORDS if words != describe(other) else differing
    details = [f"{name} {_json(fragment[name])}" for name in fragment if name in silent]
    return f"{words} ({', '.join(details)})" if details else words


def _words(fragment: Any, depth: int) -> str:
    if not isinstance(fragment, Mapping):
        return "nothing" if fragment is False else "anything"
    if depth == 0:
        return "…"
    for name in ("anyOf", "oneOf"):
        if isinstance(fragment.get(name), list) and fragment[name]:
            return _either([_words(choice, depth - 1) for choice in fragment[name]])
    if "$ref" in fragment:
        return f"as {fragment['$ref']}"
    if "const" in fragment:
        return f"always {_json(fragment['const'])}"
    if isinstance(fragment.get("enum"), list):
        return _values(fragment["enum"])
    return _either([_of_type(name, fragment, depth) for name in _types(fragment)])


def _types(fragment: Mapping[str, Any]) -> list[str]:
    declared = fragment.get("type")
    if isinstance(declared, str):
        return [declared]
    if isinstance(declared, list) and declared:
        # Each once: that of an array takes all its items, on every level.
        return list(dict.fromkeys(map(str, declared)))
    if "properties" in fragment:
        return ["object"]
    return ["array"] if "items" in fragment else ["anything"]


def _of_type(name: str, fragment: Mapping[str, Any], depth: int) -> str:
    if name == "array" and "items" in fragment:
        items = _words(fragment["items"], depth - 1)
        return f"array of ({items})" if " or " in items or "," in items else f"array of {items}"
    if name == "string" and isinstance(fragment.get("format"), str):
        return f"string, {fragment['format']}"
    return name


def _either(choices: Sequence[str]) -> str:
    """Each once, null last."""
    kept = [choice for choice in dict.fromkeys(choices) if choice != "null"]
    kept += ["null"] if "null" in choices else []
    return (", or " if any("," in choice for choice in kept) else " or ").join(kept)


def _values(values: Sequence[Any]) -> str:
    told = ", ".join(_json(value) for value in values[:_VALUES])
    more = f" and {len(values) - _VALUES} more" if len(values) > _VALUES else ""
    return f"one of {told}{more}"


def _key(names: Sequence[str]) -> str:
    return f"key: {', '.join(names)}" if names else "no key"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
