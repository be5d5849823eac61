"""The Spark data source `singerlake`.

    register(spark)
    spark.read.format("singerlake").option("tap", "tap-x").option("stream", "orders").load(root)

Spark makes the source in one Python process, asks its schema, and pickles it to the others that
plan and read. So the snapshot is taken once, when the schema is asked for, and carried along: the
plan is made from the same state as the schema. A job that knows the state gives it with the options
(`stream_state`). Tasks get the files of their partition only.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from singerlake.decode import version_union
from singerlake.decode.request import METADATA, Wanted
from singerlake.decode.stream import columns_of, metadata_of, take
from singerlake.decode.version_union import MergedSchema
from singerlake.errors import ConfigError
from singerlake.lake import snapshot as snapshots
from singerlake.lake.log import Selection
from singerlake.lake.snapshot import Snapshot
from singerlake.spark import options as read_options
from singerlake.spark import plan, pushdown, stream_state
from singerlake.spark.files import FileReader
from singerlake.spark.options import ReadOptions
from singerlake.spark.spark_type import from_spark, to_spark
from singerlake.spark.table_options import is_table, keeping, kept_in, user_options
from singerlake.spark.tables import options as table_options
from singerlake.spark.tables.columns import TABLES, chosen
from singerlake.spark.tables.options import TableOptions
from singerlake.spark.tables.reader import TableReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.datasource import DataSourceStreamReader, DataSourceWriter, Filter

_METADATA_TYPES: dict[str, spark_types.DataType] = {
    "_sequence": spark_types.LongType(),
    "_position": spark_types.LongType(),
    "_version": spark_types.LongType(),
    "_time_extracted": spark_types.TimestampType(),
    "_committed": spark_types.TimestampType(),
    "_misfits": spark_types.MapType(spark_types.StringType(), spark_types.StringType()),
    "_files": spark_types.MapType(spark_types.StringType(), spark_types.StringType()),
}


ACTIVATIONS = ("_version", "_sequence", "_position")
"""The columns of a read of ACTIVATE_VERSION messages."""


def register(spark: SparkSession) -> None:
    """Make the format `singerlake` known to a session."""
    spark.dataSource.register(SingerlakeSource)


def spark_schema(merged: MergedSchema, options: ReadOptions) -> spark_types.StructType:
    """The DataFrame's schema. Raises `ConfigError` where Spark could not tell names apart."""
    columns = () if options.activations else columns_of(merged, options.request)
    fields = [spark_types.StructField(n, to_spark(kind), True) for n, kind in columns]
    metadata = ACTIVATIONS if options.activations else metadata_of(merged, options.request)
    for name in metadata:
        kind = _METADATA_TYPES.get(name, spark_types.StringType())
        fields.append(spark_types.StructField(name, kind, True))
    schema = spark_types.StructType(fields)
    _require_distinct(schema, options)
    return schema


def _require_type(field: spark_types.StructField, told: spark_types.DataType) -> None:
    if field.dataType != told:
        raise ConfigError(
            f"the column {field.name} cannot be read as {field.dataType.simpleString()}: read it "
            f"as {told.simpleString()}, and cast it then"
        )


def _require_distinct(schema: spark_types.DataType, options: ReadOptions, path: str = "") -> None:
    if isinstance(schema, spark_types.ArrayType):
        return _require_distinct(schema.elementType, options, path)
    if isinstance(schema, spark_types.MapType):
        return _require_distinct(schema.valueType, options, path)
    if not isinstance(schema, spark_types.StructType):
        return None
    seen: dict[str, str] = {}
    for field in schema.fields:
        folded = field.name if options.case_sensitive else field.name.lower()
        if folded in seen and not path and field.name in options.metadata:
            raise ConfigError(
                f"stream {options.stream!r} of {options.tap!r} has a property {seen[folded]}, "
                f"and {field.name} is a metadata column too: leave one of them out, by the "
                "options columns and metadata"
            )
        if folded in seen:
            raise ConfigError(
                f"stream {options.stream!r} of {options.tap!r} has the columns "
                f"{path}{seen[folded]} and {path}{field.name}, which Spark takes for the same: "
                "choose one by the option columns, or set spark.sql.caseSensitive and the option "
                "caseSensitive to true"
            )
        seen[folded] = field.name
        _require_distinct(field.dataType, options, f"{path}{field.name}.")
    return None


class SingerlakeSource(DataSource):
    """One stream of a lake, or a table about the lake. docs/spark.md lists the options."""

    def __init__(self, options: dict[str, str]) -> None:
        given = user_options(options)
        state = given.pop(stream_state.OPTION, "")
        # Before anything else: Spark pickles the source as it is after this.
        read_options.storage_options({name.lower(): value for name, value in given.items()})
        # The base class would keep them as `options`, and show them.
        self._given, self._is_table = given, is_table(options)
        self._packed = b""
        self._merged: MergedSchema | None = None
        self._selection: Selection | None = None
        if state:
            self._packed, self._merged = stream_state.unpack(state)

    @classmethod
    def name(cls) -> str:
        return "singerlake"

    def __repr__(self) -> str:
        return "singerlake"

    def settings(self) -> ReadOptions:
        return read_options.parse(self._given)

    def schema(self) -> spark_types.StructType:
        if table_options.is_asked(self._given):
            about = TABLES[table_options.parse(self._given).table]
            return keeping(about, self._given) if self._is_table else about
        options = self.settings()
        if self._merged is None:
            stream = take(options.store(), options.request)
            self._selection = options.covered(stream)
            asked = options.request_within(self._selection)
            self._merged = version_union.of_stream(stream, asked)
            self._packed = stream.pack()
        made = spark_schema(self._merged, options)
        return keeping(made, self._given) if self._is_table else made

    def _adopt(self, schema: spark_types.StructType) -> None:
        """The options of a table, where its schema is all that Spark hands over."""
        if not self._given and (kept := kept_in(schema)):
            self._given = kept
            self.schema()

    def snapshot(self, options: ReadOptions) -> Snapshot:
        """The state that the schema was made from; the newest where the user gave the schema."""
        if not self._packed:
            return take(options.store(), options.request)
        # What is left of the source goes to every task, and tasks need no snapshot.
        packed, self._packed = self._packed, b""
        return snapshots.unpack(options.store(), options.keys, packed)

    def wanted(self, schema: spark_types.StructType, options: ReadOptions) -> Wanted:
        """What to decode for the schema that Spark asks for, ours or the user's."""
        ours = dict(columns_of(self._merged, options.request)) if self._merged else {}
        columns, metadata = [], []
        for field in schema.fields:
            kind = ours.get(field.name)
            if kind is None and field.name in METADATA:
                _require_type(field, _METADATA_TYPES.get(field.name, spark_types.StringType()))
                metadata.append(field.name)
                continue
            if kind is None or to_spark(kind) != field.dataType:
                kind = from_spark(field.dataType)
            if kind is None:
                raise ConfigError(
                    f"the column {field.name} cannot be read as {field.dataType.simpleString()}: "
                    "read it as bigint, double, decimal, string, boolean, date or timestamp, and "
                    "cast it then"
                )
            if not field.nullable or to_spark(kind) != field.dataType:
                raise ConfigError(
                    f"the column {field.name} cannot be read as not null, itself or what is in "
                    "it: any value may be missing or not fit; read it as nullable"
                )
            columns.append((field.name, kind))
        return Wanted(
            tuple(columns), tuple(metadata), options.max_misfits, options.start, options.end
        )

    def reader(self, schema: spark_types.StructType) -> DataSourceReader:
        self._adopt(schema)
        if table_options.is_asked(self._given):
            return TableReader(*self._table(schema))
        options = self.settings()
        # Spark refuses a reader that takes filters where the session hands none over.
        kind = FilteringReader if options.push_filters else LakeReader
        stream = self.snapshot(options)
        # That of the schema: a name such as a pin's may mean something else by now.
        selection, self._selection = self._selection or options.covered(stream), None
        return kind(stream, options, self.wanted(schema, options), schema, selection)

    def streamReader(self, schema: spark_types.StructType) -> DataSourceStreamReader:  # noqa: N802
        from singerlake.spark.stream_source import LakeStreamReader
        from singerlake.spark.tables.stream import TableStreamReader

        self._adopt(schema)
        if table_options.is_asked(self._given):
            return TableStreamReader(*self._table(schema))
        options = self.settings()
        known = None if self._merged is None else frozenset(self._merged.hashes)
        return LakeStreamReader(options, self.wanted(schema, options), schema, known)

    def _table(self, schema: spark_types.StructType) -> tuple[TableOptions, spark_types.StructType]:
        """The table about the lake that is asked for, and its columns."""
        options = table_options.parse(self._given)
        return options, chosen(options.table, schema)

    def writer(self, schema: spark_types.StructType, overwrite: bool) -> DataSourceWriter:
        from singerlake.spark.task_files import write_options
        from singerlake.spark.write import LakeWriter

        return LakeWriter(write_options(self._given), schema, overwrite)


class LakeReader(DataSourceReader):
    """Plans on the driver, reads on the executors; the plan does not travel with it."""

    def __init__(
        self,
        stream: Snapshot,
        options: ReadOptions,
        wanted: Wanted,
        schema: spark_types.StructType,
        selection: Selection,
    ) -> None:
        self._stream: Snapshot | None = stream
        self._files = FileReader(options, wanted, schema)
        self._selection = selection
        self._filters = pushdown.Chosen(selection, _hashes(options, stream, selection))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_stream": None}

    def partitions(self) -> list[InputPartition]:
        if self._stream is None:
            return []
        options = self._files.options
        rows = filter(self._filters.may_hold, self._stream.files(self._filters.selection))
        parallelism = read_options.parallelism(options.min_partitions)
        return plan.pack(
            rows,
            self._selection,
            options.max_partition_bytes,
            parallelism,
            with_runs="_run_id" in self._files.wanted.metadata,
        )

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._files.batches(partition)


class FilteringReader(LakeReader):
    """Skips files by filters on metadata; Spark still applies them to the rows.

    Only where it is asked for: Spark keeps what a filter left for all later scans of the same
    DataFrame, also for those of the same query and those without a filter.
    """

    def pushFilters(self, filters: list[Filter]) -> list[Filter]:  # noqa: N802
        # A record may have a property that is named like a metadata column.
        about = {(name,) for name in self._files.wanted.metadata}
        told = [each for each in filters if getattr(each, "attribute", None) in about]
        self._filters = self._filters.narrowed(told)
        return filters


def _hashes(options: ReadOptions, stream: Snapshot, selection: Selection) -> frozenset[str] | None:
    """The schema versions to read; None for all."""
    if options.schema_versions == "all":
        return None
    return frozenset(version_union.chosen_hashes(stream, options.request_within(selection)))
