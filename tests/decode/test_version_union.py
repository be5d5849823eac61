"""One record type for all versions of a stream."""

from __future__ import annotations

from typing import Any

import pytest

from singerlake.decode import version_union
from singerlake.format.schema import Schema


def _with(**kinds: str) -> dict[str, Any]:
    properties = {name: {"type": kind} for name, kind in kinds.items()}
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    "more",
    [
        {"additionalProperties": {"type": "integer"}},
        {"patternProperties": {"^x-": {"type": "integer"}}},
        {"oneOf": [{"$ref": "#/definitions/a"}]},
        {"allOf": [{"additionalProperties": {"type": "integer"}}]},
    ],
)
def test_a_stream_of_open_records_keeps_its_columns(more: dict[str, Any]) -> None:
    schema = Schema({**_with(id="integer"), **more})
    assert str(version_union.merge({"one": schema}).record) == "struct<id:bigint>"


def test_versions_merge_and_conflicts_are_told() -> None:
    def schema(**properties: str) -> Schema:
        return Schema({"properties": {n: {"type": kind} for n, kind in properties.items()}}, ["id"])

    merged = version_union.merge(
        {
            "one": schema(id="integer", a="integer", gone="string"),
            "two": schema(id="integer", a="number", b="boolean"),
            "three": schema(id="integer", a="number", b="object"),
        }
    )
    assert {name: str(kind) for name, kind in merged.record.fields} == {
        "id": "bigint",
        "a": "double",
        "gone": "string",
        "b": "string (JSON)",
    }
    assert merged.key_properties == ("id",)
    assert [conflict.column for conflict in merged.conflicts] == ["b"]


def test_a_conflict_inside_a_column_is_named_by_its_path() -> None:
    def schema(kind: str) -> Schema:
        inner = {"type": "object", "properties": {"x.y": {"type": kind}}}
        return Schema({"properties": {"a": {"type": "array", "items": inner}}})

    [conflict] = version_union.merge({"one": schema("integer"), "two": schema("boolean")}).conflicts
    assert conflict.column == "a[].x.y"
    assert conflict.declared == {"one": "bigint", "two": "boolean"}
    assert conflict.merged == "string (text)"
