"""The options of a table that `CREATE TABLE … USING singerlake` made.

Spark hands the source all that it keeps of the table when it is made: `provider`, `owner`,
`location`, the comment, the properties of `TBLPROPERTIES`, and each option that the user gave
twice, once as `option.<name>`. So the names with that prefix are the user's.

When the table is read, Spark hands over none of them (seen in 4.3), but the schema that the source
gave at first. So the options go into the metadata of its fields.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pyspark.sql.types import StructField, StructType

KEPT = "singerlake.options"
"""The metadata of a field that holds the options of its table."""

_PREFIX = "option."


def is_table(given: Mapping[str, str]) -> bool:
    return any(name.lower() == "provider" for name in given)


def user_options(given: Mapping[str, str]) -> dict[str, str]:
    """The options that the user gave, of a table or of a read."""
    if not is_table(given):
        return dict(given)
    lower = {name.lower(): value for name, value in given.items()}
    found = {
        name[len(_PREFIX) :]: value
        for name, value in given.items()
        if name.lower().startswith(_PREFIX)
    }
    path = lower.get(f"{_PREFIX}path") or lower.get("path") or lower.get("location")
    return found | ({"path": _local(path)} if path else {})


def _local(location: str) -> str:
    """Spark makes a `file:` URL of the path to a folder; a URL of any other kind stays."""
    if not location.startswith("file:"):
        return location
    return "/" + location[len("file:") :].lstrip("/")


def keeping(schema: StructType, options: Mapping[str, str]) -> StructType:
    """The schema, with the options in its fields: any of them may be all that is read."""
    kept = {KEPT: json.dumps(options)}
    return StructType(
        [
            StructField(
                field.name, field.dataType, field.nullable, {**(field.metadata or {}), **kept}
            )
            for field in schema
        ]
    )


def kept_in(schema: StructType) -> dict[str, str]:
    """The options that `keeping` left in a schema; none where it is no table's."""
    for field in schema:
        if text := (field.metadata or {}).get(KEPT):
            return dict(json.loads(text))
    return {}
