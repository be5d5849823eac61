"""Two different schemas with one hash: refused, never mixed."""

from __future__ import annotations

from singerlake.errors import SchemaCollision
from singerlake.format.keys import StreamKeys
from singerlake.format.schema import Schema


def require_one_schema(keys: StreamKeys, schema_hash: str, one: Schema, other: Schema) -> None:
    """Raises `SchemaCollision` where the two are not the same schema."""
    if one.digest() != other.digest():
        raise SchemaCollision(
            f"{keys.folder}: two schemas of this stream share the hash {schema_hash} "
            f"({one.digest()} and {other.digest()}); nothing of the second was written. Any change "
            "to the schema, such as a description, gives it another hash"
        )
