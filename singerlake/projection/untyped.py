"""Untyped values: what a tap sent where its schema allows nothing but null.

They are published as JSON text, and counted by their place: `column`, `column.field`, `column[]`,
`column{}`. Where that place becomes something else than a string, readers can make nothing of the
texts in older files. To read them as null would hide values, so a run has to know of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from singerlake.format.record_type import Type

STRINGS = frozenset({"string", "text", "json", "null"})
"""The kinds that are strings in a column."""


def places(kind: Type, place: str = "") -> Iterator[str]:
    """The places within a type that allow nothing but null."""
    if kind.kind == "null":
        yield place
    for inner_place, inner in _parts(kind, place):
        yield from places(inner, inner_place)


def lost(was: Type, now: Type, place: str = "") -> Iterator[str]:
    """The places that allowed nothing but null, and are no string in the wider type."""
    if was.kind == "null" and now.kind not in STRINGS:
        yield place
    wider = dict(_parts(now, place))
    for inner_place, inner in _parts(was, place):
        if inner_place in wider:  # else the whole has become a string
            yield from lost(inner, wider[inner_place], inner_place)


def count(batch: Any, columns: Iterable[tuple[str, Type]], counts: Counter[str]) -> None:
    """Add the untyped values of a record batch, in these columns of it, to the counts."""
    for name, kind in columns:
        _count(batch.column(name), kind, name, counts)


def _count(array: Any, kind: Type, place: str, counts: Counter[str]) -> None:
    if kind.kind == "null":
        counts[place] += len(array) - array.null_count
        return
    if not any(True for _ in places(kind)):
        return
    for (inner_place, inner), values in zip(_parts(kind, place), _inner(array, kind), strict=True):
        _count(values, inner, inner_place, counts)


def _inner(array: Any, kind: Type) -> list[Any]:
    """The values within: without those behind a null, or outside of a slice."""
    if kind.kind == "map":
        # Arrow flattens no maps, and `items` knows of no slice.
        first, last = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return [array.items.slice(first, last - first)]
    flat = array.flatten()
    return flat if kind.kind == "struct" else [flat]


def _parts(kind: Type, place: str) -> list[tuple[str, Type]]:
    if kind.items is not None:
        return [(place + ("{}" if kind.kind == "map" else "[]"), kind.items)]
    return [(f"{place}.{name}" if place else name, inner) for name, inner in kind.fields]
