"""The current rows of a stream, in SQL: the same rows as `singerlake.spark.views.current` gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from singerlake.decode.version_union import MergedSchema
from singerlake.errors import ConfigError
from singerlake.format.keys import StreamKeys
from singerlake.format.record_type import Type
from singerlake.sql.misfit import MISFITS
from singerlake.sql.name import quoted, text

ORDER = ("_sequence", "_position")
DELETED_AT = "_sdc_deleted_at"
NEEDED = (*ORDER, "_version", MISFITS)
"""The metadata columns that say which rows are current."""

_RANK = "_singerlake_rank"


def current(
    rows: duckdb.DuckDBPyRelation, names: Sequence[str], keys: Sequence[str], shown: Sequence[str]
) -> duckdb.DuckDBPyRelation:
    """The latest row for each key, by commit order, without those marked as deleted.

    `names` are the stream's own names of the columns: DuckDB renames those that differ from another
    one in case alone. Without keys every row stays that is not deleted, and so does a row whose
    keys are all null. A key or a mark that does not fit its type is null: it is told apart by what
    was sent.
    """
    columns = dict(zip(names, map(quoted, rows.columns), strict=True))
    if keys:
        newest = ", ".join(f"{columns[name]} desc" for name in ORDER)
        window = f"partition by {', '.join(_identity(columns, keys))} order by {newest}"
        ranked = rows.select(f"*, row_number() over ({window}) as {_RANK}")
        rows = ranked.filter(f"{_RANK} = 1")
    if DELETED_AT in columns:
        mark = _as_sent(columns, DELETED_AT)
        rows = rows.filter(f"{columns[DELETED_AT]} is null and {mark} is null")
    return rows.select(", ".join(columns[name] for name in shown))


def _identity(columns: Mapping[str, str], keys: Sequence[str]) -> list[str]:
    """What two rows have in common if one replaces the other."""
    parts = [part for key in keys for part in (columns[key], _as_sent(columns, key))]
    nameless = " and ".join(f"{part} is null" for part in parts)
    place = ", ".join(f"{name}: {columns[name]}" for name in ORDER)
    return [*parts, f"case when {nameless} then {{{place}}} end"]


def _as_sent(columns: Mapping[str, str], name: str) -> str:
    """The text of a value that does not fit its type; null where it fits, or is not there."""
    return f"{columns[MISFITS]}[{text(name)}]"


def require_current(merged: MergedSchema, stream: StreamKeys) -> None:
    """Raises `ConfigError` where nothing says which rows of a stream are current."""
    known = dict(merged.record.fields)
    where = f"stream {stream.stream!r} of {stream.tap_id!r}"
    for name in NEEDED:
        if name in known:
            raise ConfigError(
                f"{where} has a property {name}, which hides the metadata column that says which "
                "rows are current: read every record (--mode append)"
            )
    for key in merged.key_properties:
        if key not in known:
            raise ConfigError(
                f"{where} has the key {key}, and declares no property of that name: without it "
                "nothing says which rows are current. Mend the tap's schema, or read every record "
                "(--mode append)"
            )
        if _holds(known[key], "map"):
            raise ConfigError(
                f"{where}: the key {key} holds a map, and maps are not compared: declare the "
                "properties of the object, or read every record (--mode append)"
            )


def _holds(kind: Type, wanted: str) -> bool:
    inner = (*((kind.items,) if kind.items else ()), *(field for _, field in kind.fields))
    return kind.kind == wanted or any(_holds(one, wanted) for one in inner)
