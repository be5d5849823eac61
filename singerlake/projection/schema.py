"""The schema of a published version as a record type. It is Spark's, as JSON; no Spark is needed.

To Spark, a column of texts and one of JSON texts are both strings. Which of the two it is stands
in the metadata of its field (`KIND`): where texts are to be read beside JSON, they are JSON too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from singerlake.format import record_type as types
from singerlake.format.record_type import Type

KIND = "singerlake.kind"
"""What the strings of a field are, also those in its arrays and maps: `text`, `json`, or `null`
where the schema allows nothing else. Fields of documents that are older than this lack it."""

_MARKED = {"text": types.TEXT, "json": types.JSON, "null": types.NULL}
_SCALARS = {
    "boolean": types.BOOLEAN,
    "long": types.LONG,
    "double": types.DOUBLE,
    "timestamp": types.TIMESTAMP,
    "date": types.DATE,
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def record_of(schema: Mapping[str, Any]) -> Type:
    """The record type of a schema; a string that has no mark is a `string`."""
    return types.struct(
        {
            field["name"]: _type(field["type"], (field.get("metadata") or {}).get(KIND, ""))
            for field in schema["fields"]
        }
    )


def _type(data_type: str | Mapping[str, Any], mark: str) -> Type:
    if isinstance(data_type, str):
        return _scalar(data_type, mark)
    if data_type["type"] == "struct":
        return record_of(data_type)
    if data_type["type"] == "array":
        return types.array(_type(data_type["elementType"], mark))
    return types.mapping(_type(data_type["valueType"], mark))


def _scalar(name: str, mark: str) -> Type:
    if found := _DECIMAL.fullmatch(name):
        return types.decimal(int(found[1]), int(found[2]))
    return _SCALARS.get(name) or _MARKED.get(mark, types.STRING)
