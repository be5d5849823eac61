"""Views of a stream that people want: what is current, without what was replaced or deleted."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from operator import and_
from pathlib import Path
from typing import Any

from pyspark.sql import Column, DataFrame, Observation, SparkSession, Window
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from singerlake.decode import version_union
from singerlake.decode.stream import take
from singerlake.decode.version_union import MergedSchema
from singerlake.errors import ConfigError
from singerlake.lake import Selection, replication
from singerlake.lake.replication import Current, Method
from singerlake.lake.snapshot import Snapshot
from singerlake.spark import source
from singerlake.spark.observed import MISFITS, observed
from singerlake.spark.options import ReadOptions
from singerlake.spark.read import load, load_counted, options_of, parsed
from singerlake.spark.spark_type import holds_double, holds_map
from singerlake.spark.stream_state import StreamState

logger = logging.getLogger("singerlake.spark")

ORDER = ("_sequence", "_position")
DELETED_AT = "_sdc_deleted_at"
NEEDED = (*ORDER, "_version", MISFITS)
"""The metadata columns that tell which rows are current."""

_RANK = "_singerlake_rank"


def read_current(
    spark: SparkSession,
    root: str | Path,
    tap: str,
    stream: str,
    *,
    keys: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    metadata: bool | Sequence[str] = False,
    misfits: Observation | None = None,
    replication_method: Method | None = None,
    decided: Current | None = None,
    state: StreamState | None = None,
    **options: Any,
) -> DataFrame:
    """A stream as its source is now, see `current`; the keys are the stream's own by default.

    A full table is the rows of its newest complete run. `replication_method` says whether the
    stream is one, `full_table` or `incremental`; otherwise the catalogue, the runs and the SCHEMA
    do, and a warning is logged where none of them does. A caller that has `decided` says which
    commits count, and one that knows the stream's `state` hands it over.

    Where the tap sends full-table versions, rows of an older one than was last activated are left
    out: a Spark job looks for that now. A stream that declares no property comes whole. `options`
    are those of `read_stream`; `misfits` counts those of the rows that are current.
    """
    if keys is not None:  # those of the stream are exact by themselves
        options["exact"] = list(keys)
    given = options_of(spark, tap=tap, stream=stream, metadata=metadata, **options)
    settings = parsed(root, given)
    taken = take(settings.store(), settings.request) if state is None else state.snapshot
    if decided is None:
        decided = replication.current(taken, settings.extent, replication_method)
    until = _until(taken, settings, decided)
    if state is None:
        asked = settings.request_within(Selection(until=until))
        state = StreamState(taken, version_union.of_stream(taken, asked))
    merged = state.merged
    known = [name for name, _ in merged.record.fields]
    # One state of the stream for all reads.
    fixed = {**_about_rows(options), "tap": tap, "stream": stream, "until": until}
    is_bare = not known and columns is None
    numbers = decided.selection.numbers
    ours = {} if numbers is None else {"sequences": numbers}
    # A run that does not count may have activated a version of its own.
    activated = None if is_bare else _activated(spark, root, {**fixed, **ours}, state)
    if decided.warning and activated is None:
        logger.warning("%s", decided.warning)
    if activated is None or decided.is_asked:  # a load may have taken several runs
        fixed |= ours
    if is_bare:  # the record is there as text, in a column of its own
        bare = options_of(spark, **fixed, metadata=metadata)
        if misfits:
            return load_counted(spark, root, bare, misfits, state)
        return load(spark, root, bare, state)
    key = list(merged.key_properties if keys is None else keys)
    shown = known if columns is None else list(columns)
    deleted = [DELETED_AT] if DELETED_AT in known else []
    wanted = tuple(dict.fromkeys([*shown, *key, *deleted]))
    require_current(merged, replace(settings, columns=wanted), key)
    read = options_of(
        spark,
        **fixed,
        columns=wanted,
        metadata=_with_needed(settings.metadata),
    )
    rows = load(spark, root, read, state)
    if activated is not None and decided.run is not None:
        # Rows of a newer version than the one in force are of a load that has not ended.
        rows = rows.where(f.col("_version").isNull() | (f.col("_version") <= activated))
    rows = current(rows, key, activated)
    if misfits is not None:
        rows = observed(rows, misfits, shown, settings.metadata)
    return rows.select(*map(_quoted, [*shown, *settings.metadata]))


def _about_rows(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options without those that the decision has taken into account."""
    decided = ("runs", "asof", "runoutcomes", "until", "sequences")
    return {name: value for name, value in options.items() if _folded(name) not in decided}


def _until(stream: Snapshot, settings: ReadOptions, decided: Current) -> int:
    ends = (stream.last_sequence, settings.until, decided.selection.until)
    return min(number for number in ends if number is not None)


def require_current(merged: MergedSchema, options: ReadOptions, keys: Sequence[str]) -> None:
    """Raises `ConfigError` where a read with these options cannot tell which rows are current."""
    known = [name for name, _ in merged.record.fields]
    missing = [name for name in keys if name not in known]
    if missing:
        raise ConfigError(
            f"stream {options.stream!r} of {options.tap!r} has the key {', '.join(keys)}, and "
            f"declares no property {', '.join(missing)}: without it nothing tells which rows are "
            "current. Mend the tap's schema, or take every record (--mode append, read_stream)"
        )
    needed = replace(options, metadata=_with_needed(options.metadata))
    _require_comparable(source.spark_schema(merged, needed), keys)


def _with_needed(metadata: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*metadata, *NEEDED]))


def _require_comparable(schema: StructType, keys: Sequence[str]) -> None:
    for key in keys:
        kind = schema[key].dataType
        if holds_map(kind):
            raise ConfigError(
                f"the key {key!r} is a {kind.simpleString()}, and Spark does not compare maps: "
                "declare the properties of the object, or take every record (--mode append, "
                "read_stream)"
            )
        if holds_double(kind):
            raise ConfigError(
                f"the key {key!r} is a {kind.simpleString()}, which takes integers past 2^53 for "
                'their neighbours: read the stream with numbers="decimal"'
            )


def _activated(
    spark: SparkSession, root: str | Path, options: dict[str, Any], state: StreamState
) -> int | None:
    """The version that the newest ACTIVATE_VERSION message names."""
    # The message may stand in a file of another time or schema than the rows that it replaces.
    about_rows = ("start", "end", "schemaversions")
    wanted = {name: value for name, value in options.items() if _folded(name) not in about_rows}
    found = load(spark, root, options_of(spark, **wanted, activations=True), state)
    newest = found.orderBy(*(f.col(name).desc() for name in ORDER)).first()
    return None if newest is None else int(newest["_version"])


def _folded(option: str) -> str:
    """Options go by the source's names, regardless of case, and by those of `read_stream`."""
    return option.lower().replace("_", "")


def _quoted(name: str) -> Column:
    return f.col("`" + name.replace("`", "``") + "`")


def current(df: DataFrame, keys: Sequence[str], activated: int | None = None) -> DataFrame:
    """The latest row for each key, by commit order; rows marked as deleted are left out.

    `df` has the metadata columns `_sequence` and `_position`. Without keys, every row stays that
    is not deleted, and so does a row whose keys are all null. With `activated`, rows of an older
    `_version` are left out first: they belong to a full-table run that a newer one has replaced.
    Without keys, rows of a newer one are left out too: nothing would replace the older ones.

    A key or a mark that does not fit its type is null, or lacks a part, and would make rows of
    different keys one: with the metadata column `_misfits` it is told apart by what was sent.

    Raises `ConfigError` for a key that holds maps, which Spark does not compare, or doubles, which
    are not exact.
    """
    needed = [*ORDER, *keys, *([] if activated is None else ["_version"])]
    missing = [name for name in needed if name not in df.columns]
    if missing:
        raise ConfigError(
            f"the DataFrame has no column {', '.join(missing)}: read the stream with its key "
            f"properties, and with the metadata columns {', '.join(ORDER)} and _version"
        )
    _require_comparable(df.schema, keys)
    if activated is not None:
        version = f.col("_version")
        df = df.where(version.isNull() | (version >= activated if keys else version == activated))
    if keys:
        newest = Window.partitionBy(*_identity(df, keys)).orderBy(
            *(f.col(name).desc() for name in ORDER)
        )
        df = df.withColumn(_RANK, f.row_number().over(newest)).where(f.col(_RANK) == 1).drop(_RANK)
    if DELETED_AT in df.columns:
        df = df.where(f.col(DELETED_AT).isNull() & _as_sent(df, DELETED_AT).isNull())
    return df


def _identity(df: DataFrame, keys: Sequence[str]) -> list[Column]:
    """What two rows have in common if one replaces the other."""
    parts = [part for key in keys for part in (_quoted(key), _as_sent(df, key))]
    nameless = reduce(and_, (part.isNull() for part in parts))
    return [*parts, f.when(nameless, f.struct(*ORDER))]


def _as_sent(df: DataFrame, name: str) -> Column:
    """The text of a value that does not fit its type; null where it fits, or is not there."""
    if MISFITS not in df.columns:
        return f.lit(None).cast("string")
    return f.col(MISFITS)[name]
