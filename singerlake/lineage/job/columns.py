"""Which column was made of which: by a projection, by a selection, by a stream map."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from msgspec import UNSET

from singerlake.lineage.event import facet
from singerlake.lineage.event.name import DatasetName

IDENTITY = facet.Transformation(type="DIRECT", subtype="IDENTITY")

_RECORD = frozenset({"record", "_"})
"""What an expression of a stream map calls the record."""

_NO_FIELDS = _RECORD | {"config", "datetime", "fake", "json", "self"}
_HASHES = frozenset({"md5", "sha256"})


def field(
    source: DatasetName, name: str, transformation: facet.Transformation = IDENTITY
) -> facet.InputField:
    return facet.InputField(
        namespace=source.namespace, name=source.name, field=name, transformations=(transformation,)
    )


def same(source: DatasetName, names: Iterable[str]) -> dict[str, facet.ColumnInputs]:
    """Columns that come as they are."""
    return {name: facet.ColumnInputs(input_fields=(field(source, name),)) for name in names}


def indirect(source: DatasetName, names: Sequence[str], how: str) -> tuple[facet.InputField, ...]:
    """Columns by which rows are chosen, ordered or grouped: they bear on every column."""
    kind = facet.Transformation(type="INDIRECT", subtype=how)
    return tuple(field(source, name, kind) for name in names)


def of_map(
    source: DatasetName, rules: Mapping[str, Any], columns: Iterable[str]
) -> facet.ColumnLineage:
    """What a stream map makes: `columns` are those that come out of it.

    A rule is an expression of Python; which columns it reads can be seen from its names.
    """
    made: dict[str, facet.ColumnInputs] = {}
    for column in columns:
        rule = rules.get(column)
        if column not in rules:
            made |= same(source, [column])
        elif isinstance(rule, str):
            made[column] = facet.ColumnInputs(input_fields=tuple(_inputs(source, rule)))
    chosen_by = rules.get("__filter__")
    names = [] if not isinstance(chosen_by, str) else sorted(_fields_of(chosen_by))
    return facet.ColumnLineage(fields=made, dataset=indirect(source, names, "FILTER"))


def _inputs(source: DatasetName, rule: str) -> Iterator[facet.InputField]:
    names = sorted(_fields_of(rule))
    if names == [rule.strip()]:
        yield field(source, names[0])
        return
    masking = bool(_called(rule) & _HASHES)
    kind = facet.Transformation(
        type="DIRECT", subtype="TRANSFORMATION", masking=True if masking else UNSET
    )
    for name in names:
        yield field(source, name, kind)


def _called(rule: str) -> set[str]:
    calls = (node.func for node in _walk(rule) if isinstance(node, ast.Call))
    return {func.id for func in calls if isinstance(func, ast.Name)}


def _fields_of(rule: str) -> set[str]:
    """The fields that an expression names, as `total`, `record["total"]` or `_.get("total")`."""
    found, called = set[str](), _called(rule)
    for node in _walk(rule):
        match node:
            case ast.Name(id=name) if name not in _NO_FIELDS and name not in called:
                found.add(name)
            case ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str(key))) if (
                name in _RECORD
            ):
                found.add(key)
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id=name), attr="get"),
                args=[ast.Constant(value=str(key)), *_],
            ) if name in _RECORD:
                found.add(key)
    return found


def _walk(rule: str) -> Iterator[ast.AST]:
    try:
        return ast.walk(ast.parse(rule, mode="eval"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return iter(())  # the SDK says what is wrong with it
