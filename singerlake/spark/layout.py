"""How a projection's rows are laid out: partitioned into folders, sorted within files."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql import types as spark

from singerlake.errors import ConfigError, InputError
from singerlake.format.nearest import did_you_mean
from singerlake.spark.spark_type import holds_map

PARTITION = "__singerlake_partition"
"""The column that takes a row's partition values to the task that writes it."""

NULL = "__HIVE_DEFAULT_PARTITION__"
LONGEST = 240
"""Bytes of a folder's name: file systems end at 255."""

_TIMES = {"year": "yyyy", "month": "yyyy-MM", "day": "yyyy-MM-dd", "hour": "yyyy-MM-dd-HH"}
_ORDERS = ("asc", "desc")
_SPECIAL = re.compile(r"[\x00-\x1f\x7f\"#%'*/:=?\\{\[\]^]")  # those that Hive escapes


@dataclass(frozen=True)
class Part:
    """A column to partition or sort by, and what is asked of it after a colon."""

    column: str
    how: str = ""

    @property
    def label(self) -> str:
        return f"{self.column}_{self.how}" if self.how else self.column


def parse(text: str, columns: Sequence[str], allowed: Sequence[str]) -> Part:
    """`name` or `name:how`. Raises `ConfigError` where there is no such column."""
    name, colon, how = text.rpartition(":")
    if text in columns or not colon:
        name, how = text, ""
    if name not in columns or (how and how not in allowed):
        raise ConfigError(
            f"{text!r}: expected a column, or one with {', '.join(':' + word for word in allowed)} "
            f"behind it; the columns are {', '.join(columns)}.{did_you_mean(name, columns)}"
        )
    return Part(name, how)


def partition_parts(partition_by: Sequence[str], columns: Sequence[str]) -> list[Part]:
    """Raises `ConfigError` where two have one label: files know their partition's values by it."""
    parts = [parse(text, columns, list(_TIMES)) for text in partition_by]
    labels = [part.label for part in parts]
    for label in labels:
        if labels.count(label) > 1:
            raise ConfigError(
                f"two of the partitions {', '.join(partition_by)} are named {label!r}: leave one "
                "of them out"
            )
    return parts


def require_columns(
    schema: spark.StructType, partition_by: Sequence[str], sort_by: Sequence[str]
) -> None:
    """Raises `ConfigError` where rows with this schema cannot be laid out so."""
    for part in partition_parts(partition_by, schema.names):
        _require_type(part, schema[part.column].dataType)
    for text in sort_by:
        part = parse(text, schema.names, _ORDERS)
        kind = schema[part.column].dataType
        if holds_map(kind):
            raise ConfigError(
                f"{part.column!r} is a {kind.simpleString()}: maps have no order to sort by"
            )


def arranged(frame: DataFrame, partition_by: Sequence[str], sort_by: Sequence[str]) -> DataFrame:
    """The rows in the order in which tasks are to write them, each with its partition's values.

    Without either, every row stays in the task that read it: nothing is shuffled.
    """
    parts = partition_parts(partition_by, frame.columns)
    order = [_order(parse(text, frame.columns, _ORDERS)) for text in sort_by]
    if not parts:
        if order:
            # Each task gets a range, so the files follow each other in the order too.
            frame = frame.repartitionByRange(*order).sortWithinPartitions(*order)
        return frame.withColumn(PARTITION, F.array().cast("array<string>"))
    frame = frame.withColumn(PARTITION, F.array(*map(_value, parts)))
    if frame.sparkSession.conf.get("spark.sql.adaptive.enabled") == "true":
        # Spark splits large partitions between tasks, and joins small ones in a task.
        frame = frame.hint("rebalance", PARTITION)
    else:
        frame = frame.repartition(F.col(PARTITION))
    return frame.sortWithinPartitions(F.col(PARTITION), *order)


def _named(name: str) -> Column:
    return F.col("`" + name.replace("`", "``") + "`")


def _require_type(part: Part, kind: spark.DataType) -> None:
    if not part.how and isinstance(kind, (spark.StructType, spark.ArrayType, spark.MapType)):
        raise ConfigError(
            f"{part.column!r} is a {kind.simpleString()}: only a plain value can partition"
        )
    times = (spark.TimestampType, spark.TimestampNTZType, spark.DateType)
    if part.how and not isinstance(kind, times):
        raise ConfigError(
            f"{part.column}:{part.how} needs a column of times, and this one is "
            f"{kind.simpleString()}"
        )


def _value(part: Part) -> Column:
    column = _named(part.column)
    return F.date_format(column, _TIMES[part.how]) if part.how else column.cast("string")


def _order(part: Part) -> Column:
    column = _named(part.column)
    return column.desc() if part.how == "desc" else column.asc()


def folder(labels: Sequence[str], values: Sequence[str | None]) -> str:
    """The folders of a partition, as Hive names them, with a `/` at the end; `""` for none."""
    return "".join(
        f"{_segment(label, value)}/" for label, value in zip(labels, values, strict=True)
    )


def _segment(label: str, value: str | None) -> str:
    # A name that begins with a dot is hidden: from our listings, and from other readers.
    name = re.sub(r"^\.", "%2E", _escaped(label))
    segment = f"{name}={_escaped(value) if value else NULL}"
    if len(segment.encode("utf-8", "surrogatepass")) > LONGEST:
        raise InputError(
            f"the partition {label[:40]}={(value or '')[:40]!r}… is too long for a folder's name "
            f"({LONGEST} bytes): partition by another column"
        )
    return segment


def _escaped(text: str) -> str:
    return _SPECIAL.sub(lambda match: f"%{ord(match[0]):02X}", text)
