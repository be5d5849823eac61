"""A schema's properties, in one flat list: what a person looks up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from singerlake.format.difference import ITEMS, describe
from singerlake.format.schema import Schema

Path = tuple[str, ...]

MOST = 2000
"""Properties of a schema that are told: a page has to stay one that can be read."""

DEEPEST = 20
"""Levels of nesting: the name of each part holds those of all above it."""

_NULL = (", or null", " or null")


@dataclass(frozen=True)
class Property:
    """One property, at any depth. `kind` is its type in words, without the null."""

    path: Path
    kind: str
    nullable: bool
    is_key: bool
    description: str

    @property
    def name(self) -> str:
        return joined(self.path)

    @property
    def depth(self) -> int:
        return sum(step != ITEMS for step in self.path) - 1


def joined(path: Path) -> str:
    """`lines[].price`."""
    return "".join(
        step if step == ITEMS or number == 0 else f".{step}" for number, step in enumerate(path)
    )


def properties(schema: Schema) -> list[Property]:
    """The first `MOST` properties down to `DEEPEST`, as the schema has them, parts after wholes."""
    found: list[Property] = []
    waiting = _parts((), schema.schema)
    while waiting and len(found) < MOST:
        path, fragment = waiting.pop()
        if path[-1] != ITEMS:
            found.append(_property(path, fragment, schema))
        waiting += _parts(path, fragment)
    return found


def _parts(path: Path, fragment: Any) -> list[tuple[Path, Any]]:
    """What is below a fragment, last first: it is taken from the end."""
    if not isinstance(fragment, Mapping) or len(path) >= DEEPEST:
        return []
    inside, items = fragment.get("properties"), fragment.get("items")
    parts = list(inside.items()) if isinstance(inside, Mapping) else []
    parts += [(ITEMS, items)] if path and isinstance(items, Mapping) else []
    return [((*path, name), part) for name, part in reversed(parts)]


def _property(path: Path, fragment: Any, schema: Schema) -> Property:
    words = describe(fragment)
    kind = next((words.removesuffix(end) for end in _NULL if words.endswith(end)), words)
    description = fragment.get("description") if isinstance(fragment, Mapping) else None
    return Property(
        path=path,
        kind=kind,
        nullable=kind != words,
        is_key=len(path) == 1 and path[0] in schema.key_properties,
        description=description if isinstance(description, str) else "",
    )
