"""Streams as DataFrames, in one line of Python."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation, SparkSession

from singerlake.decode.request import StreamRequest
from singerlake.decode.stream import take
from singerlake.decode.version_union import Conflict, chosen, merge
from singerlake.errors import ConfigError
from singerlake.format import times
from singerlake.lake import open_on
from singerlake.lake.extent import require_streams
from singerlake.spark import options as read_options
from singerlake.spark.lend import lend
from singerlake.spark.observed import MISFITS, observed
from singerlake.spark.options import ReadOptions
from singerlake.spark.source import register
from singerlake.spark.stream_state import OPTION, StreamState
from singerlake.spark.tables import options as table_options
from singerlake.store import open_store

_NAMES = {
    "schema_versions": "schemaVersions",
    "as_of": "asOf",
    "run_id": "runId",
    "run_outcomes": "runOutcomes",
    "max_misfits": "maxMisfits",
}
"""Options that have other names in Python."""

PUSHDOWN = "spark.sql.python.filterPushdown.enabled"


def read_stream(
    spark: SparkSession,
    root: str | Path,
    tap: str,
    stream: str,
    *,
    columns: Sequence[str] | None = None,
    metadata: bool | Sequence[str] = False,
    since: int | None = None,
    until: int | None = None,
    start: datetime | str | None = None,
    end: datetime | str | None = None,
    schema_versions: Literal["all", "latest"] | Sequence[str] = "all",
    runs: Literal["all", "last"] | Sequence[str] = "all",
    run_id: str | None = None,
    as_of: int | datetime | str | None = None,
    max_misfits: int | None = None,
    misfits: Observation | None = None,
    mode: Literal["permissive", "failfast"] = "permissive",
    numbers: Literal["double", "decimal", "string"] = "double",
    storage_options: Mapping[str, Any] | None = None,
    **more: Any,
) -> DataFrame:
    """A stream of the lake at `root` as a DataFrame.

    `columns` are the record's, all by default; naming the few that are needed is quicker.
    `metadata` adds columns about the record: True for the usual ones, or their names. `since` and
    `until` are sequence numbers, after and up to; `start` and `end` are times of extraction, from
    and before. `runs` are all, the last complete one of the stream, or run ids, and `run_id` is
    one run; `as_of` leaves out what was committed after a sequence number, a time, a pin or a run.
    `more` are further options of the source (docs/spark.md).

    Values that do not fit are null. `misfits` counts them by column, when the DataFrame is used; a
    task that finds more than `max_misfits` fails (`mode` failfast: as `max_misfits` 0).
    """
    given = options_of(
        spark,
        tap=tap,
        stream=stream,
        columns=columns,
        metadata=metadata,
        since=since,
        until=until,
        start=start,
        end=end,
        schema_versions=schema_versions,
        runs=runs,
        run_id=run_id,
        as_of=as_of,
        max_misfits=max_misfits,
        mode=mode,
        numbers=numbers,
        storage_options=storage_options,
        **more,
    )
    if misfits is None:
        return load(spark, root, given)
    return load_counted(spark, root, given, misfits)


def load_counted(
    spark: SparkSession,
    root: str | Path,
    given: Mapping[str, str],
    misfits: Observation,
    state: StreamState | None = None,
) -> DataFrame:
    """The same as `load`, with its misfits counted."""
    asked = parsed(root, given).metadata
    metadata = _text(dict.fromkeys([*asked, MISFITS]))
    frame = load(spark, root, {**given, "metadata": metadata}, state)
    own = [name for name in frame.columns if name not in (*asked, MISFITS)]
    frame = observed(frame, misfits, own, asked)
    return frame if MISFITS in asked else frame.drop(MISFITS)


def load(
    spark: SparkSession,
    root: str | Path,
    given: Mapping[str, str],
    state: StreamState | None = None,
) -> DataFrame:
    """The DataFrame that these options of the source make; of this `state`, or the newest."""
    # Refuse what is wrong here, with our own error, before Spark wraps it in one of its own.
    options = parsed(root, given)
    if options.push_filters and spark.conf.get(PUSHDOWN, "false") != "true":
        raise ConfigError(f"the option pushFilters needs a session that has {PUSHDOWN} set to true")
    register(spark)
    packed = {} if state is None else {OPTION: state.pack()}
    return spark.read.format("singerlake").options(**given, **packed).load(str(root))


def parsed(root: str | Path, given: Mapping[str, str]) -> ReadOptions:
    """The options as the source will understand them. Raises `ConfigError`."""
    return read_options.parse({**given, "path": str(root)})


def read_tap(
    spark: SparkSession,
    root: str | Path,
    tap: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> dict[str, DataFrame]:
    """Every stream of a tap, by name; `options` are those of `read_stream`."""
    lake = open_on(open_store(root, storage_options or {}))
    names = [stream.name for stream in lake.tap(tap).streams()]
    require_streams(lake.store, tap, names, options.get("as_of"))
    return {
        name: read_stream(spark, root, tap, name, storage_options=storage_options, **options)
        for name in names
    }


def read_table(
    spark: SparkSession,
    root: str | Path,
    table: Literal["commits", "files", "runs"],
    *,
    tap: str | None = None,
    stream: str | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """A table about the lake at `root`, or about one tap or stream of it: its commits, its files
    as they were committed, or its runs (docs/spark.md)."""
    given = {
        "table": table,
        "tap": tap,
        "stream": stream,
        "minPartitions": _parallelism(spark),
        "storage_options": None if storage_options is None else lend(spark, storage_options),
    }
    texts = {name: str(value) for name, value in given.items() if value is not None}
    table_options.parse({**texts, "path": str(root)})  # raises our own error, not one of Spark's
    register(spark)
    return spark.read.format("singerlake").options(**texts).load(str(root))


def merge_report(
    root: str | Path,
    tap: str,
    stream: str,
    *,
    storage_options: Mapping[str, Any] | None = None,
    numbers: Literal["double", "decimal", "string"] = "double",
) -> list[Conflict]:
    """The columns that schema versions declare so differently that they are read as text."""
    request = StreamRequest(tap, stream, numbers=numbers)
    found = take(open_store(root, storage_options or {}), request)
    return list(merge(chosen(found, request), numbers).conflicts)


def options_of(spark: SparkSession, **values: Any) -> dict[str, str]:
    """Options as the texts that Spark carries; None is left out."""
    values.setdefault("caseSensitive", spark.conf.get("spark.sql.caseSensitive"))
    values.setdefault("minPartitions", _parallelism(spark))
    if isinstance(values.get("storage_options"), Mapping):
        values["storage_options"] = lend(spark, values["storage_options"])
    return texts_of(**values)


def texts_of(**values: Any) -> dict[str, str]:
    """Options by the source's names, as texts; None is left out."""
    named = {_NAMES.get(name, name): value for name, value in values.items()}
    return {name: _text(value) for name, value in named.items() if value is not None}


def _parallelism(spark: SparkSession) -> int | None:
    try:
        return spark.sparkContext.defaultParallelism
    except PySparkException:  # a session on another machine, by Spark Connect
        return None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return times.rfc3339(value)
    if isinstance(value, (list, tuple, set, frozenset, dict)):
        return json.dumps(list(value))
    return str(value)
