"""A stream's schema as a facet: the columns that it has in tables, nested ones too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import UNSET, UnsetType

from singerlake.format import json_schema
from singerlake.format.record_type import Type
from singerlake.format.schema import Schema
from singerlake.lineage.event import facet

LONGEST = 1000
"""Characters of a description: some taps have pages of documentation there."""


def of_stream(schema: Schema) -> facet.Schema:
    record = json_schema.of(schema.schema, is_record=True)
    return of_columns(record.fields, schema.schema)


def of_columns(
    columns: tuple[tuple[str, Type], ...], declared: Mapping[str, Any] | None = None
) -> facet.Schema:
    """`declared` is the JSON Schema that may describe them."""
    return facet.Schema(fields=_fields(columns, declared))


def _fields(columns: tuple[tuple[str, Type], ...], declared: object) -> tuple[facet.Field, ...]:
    known = declared.get("properties") if isinstance(declared, Mapping) else None
    described = known if isinstance(known, Mapping) else {}
    return tuple(_field(name, kind, described.get(name)) for name, kind in columns)


def _field(name: str, kind: Type, declared: object) -> facet.Field:
    nested: tuple[facet.Field, ...] | UnsetType = UNSET
    if kind.kind == "struct":
        nested = _fields(kind.fields, declared)
    elif kind.items is not None and kind.items.kind == "struct":
        within = declared.get("items") if isinstance(declared, Mapping) else None
        nested = _fields(kind.items.fields, within)
    text = declared.get("description") if isinstance(declared, Mapping) else None
    description = text[:LONGEST] if isinstance(text, str) and text else UNSET
    simple = kind.kind if kind.kind == "struct" else kind.simple
    if not isinstance(nested, UnsetType) and kind.kind != "struct":
        simple = f"{kind.kind}<struct>"
    return facet.Field(name=name, type=simple, description=description, fields=nested)
