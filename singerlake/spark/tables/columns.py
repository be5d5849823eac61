"""The columns of the tables about a lake. docs/spark.md shows them."""

from __future__ import annotations

from typing import Any

from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from singerlake.errors import ConfigError

_TEXT, _NUMBER, _TIME = StringType(), LongType(), TimestampType()


def _table(**columns: tuple[DataType, str]) -> StructType:
    fields = [
        StructField(name, kind, True, {"comment": comment})
        for name, (kind, comment) in columns.items()
    ]
    return StructType(fields)


_NAMES: dict[str, tuple[DataType, str]] = {
    "tap": (_TEXT, "the tap id"),
    "stream": (_TEXT, "the stream's name"),
    "log_id": (_TEXT, "the stream's log; another one where its numbers were given anew"),
    "first_sequence": (_NUMBER, "the first sequence number"),
    "last_sequence": (_NUMBER, "the last sequence number"),
    "committed": (_TIME, "when it was committed, by the writer's clock"),
    "writer_id": (_TEXT, "who committed it; null where an older vacuum forgot it"),
    "run_id": (_TEXT, "the run that committed it; null likewise"),
}

_SIZES: dict[str, tuple[DataType, str]] = {
    "first": (_TIME, "the earliest time_extracted"),
    "last": (_TIME, "the latest time_extracted"),
    "records": (_NUMBER, "how many records; null where nobody knows"),
    "bytes": (_NUMBER, "compressed bytes as committed; null likewise"),
}

_LEFT = StructType(
    [
        StructField("stream", _TEXT),
        StructField("log_id", _TEXT),
        StructField("first_sequence", _NUMBER),
        StructField("last_sequence", _NUMBER),
        StructField("files", _NUMBER),
        StructField("records", _NUMBER),
        StructField("bytes", _NUMBER),
    ]
)

TABLES: dict[str, StructType] = {
    "commits": _table(
        **_NAMES,
        schema_versions=(ArrayType(_NUMBER), "the numbers of the schema versions in it"),
        files=(_NUMBER, "how many files"),
        **_SIZES,
    ),
    "files": _table(
        **_NAMES,
        schema_hash=(_TEXT, "the schema version of the file"),
        schema_version=(_NUMBER, "its number, from 1; null where the log does not know it"),
        **_SIZES,
        checksum=(_TEXT, "that of the file as it was committed"),
        file=(_TEXT, "the key, below the lake's root, of the file that holds its lines now"),
    ),
    "runs": _table(
        tap=(_TEXT, "the tap id"),
        run_id=(_TEXT, "the run's id"),
        writer_id=(_TEXT, "the process that landed it"),
        number=(_NUMBER, "its row in the tap's run log; 0 where it has none"),
        begun=(_TIME, "when it began, or its first commit"),
        ended=(_TIME, "when it ended, or its last commit"),
        outcome=(_TEXT, "complete, ended, failed or stopped; open or lost without a document"),
        corrected=(BooleanType(), "whether somebody corrected the outcome"),
        reason=(_TEXT, "why, where somebody said so; else null"),
        exit_code=(_NUMBER, "the tap's, where somebody saw it; else null"),
        files=(_NUMBER, "how many files it committed"),
        records=(_NUMBER, "how many records"),
        bytes=(_NUMBER, "compressed bytes as committed"),
        streams=(ArrayType(_LEFT), "what it left in each stream that it was sent"),
    ),
}
"""The schema of each table, by its name."""


def chosen(table: str, asked: StructType) -> StructType:
    """The columns of a table that Spark asks for: all, or those of a schema that the user gave.

    Raises `ConfigError`.
    """
    known: dict[str, Any] = {field.name: field.dataType for field in TABLES[table]}
    for field in asked:
        if known.get(field.name) != field.dataType:
            there = ", ".join(f"{name} {kind.simpleString()}" for name, kind in known.items())
            raise ConfigError(
                f"the table {table} has no column {field.name} {field.dataType.simpleString()}; "
                f"its columns are {there}"
            )
    return asked
