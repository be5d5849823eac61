"""The schema of a version as a record type: what Spark itself makes of it, without Spark."""

from __future__ import annotations

from typing import Any

from singerlake.format import record_type as types
from singerlake.projection.schema import KIND, record_of


def field(name: str, kind: Any, mark: str = "") -> dict[str, Any]:
    metadata = {KIND: mark} if mark else {}
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def test_every_type_that_a_projection_writes_is_read() -> None:
    array = {"type": "array", "elementType": "long", "containsNull": True}
    mapping = {
        "type": "map",
        "keyType": "string",
        "valueType": "decimal(9,2)",
        "valueContainsNull": True,
    }
    inner = {"type": "struct", "fields": [field("day", "date"), field("json", "string", "json")]}
    scalars = ["boolean", "long", "double", "timestamp", "date"]
    record = record_of(
        {
            "type": "struct",
            "fields": [
                *(field(name, name) for name in scalars),
                field("array", array),
                field("map", mapping),
                field("struct", inner),
                field("texts", {**array, "elementType": "string"}, "text"),
                field("old", "string"),
                field("nothing", "string", "null"),
            ],
        }
    )
    assert record == types.struct(
        {
            **{name: types.Type(name) for name in scalars},  # type: ignore[arg-type]
            "array": types.array(types.LONG),
            "map": types.mapping(types.decimal(9, 2)),
            "struct": types.struct({"day": types.DATE, "json": types.JSON}),
            "texts": types.array(types.TEXT),
            "old": types.STRING,
            "nothing": types.NULL,
        }
    )
