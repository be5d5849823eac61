"""A table about the lake as a batch: all of it, as it is when the plan is made."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from singerlake.lake.feed.cursor import Cursor
from singerlake.lake.feed.ends import Ends
from singerlake.lake.feed.follower import Follower
from singerlake.spark.tables import part
from singerlake.spark.tables.options import TableOptions
from singerlake.spark.tables.part import Part


class TableReader(DataSourceReader):
    """Looks on the driver where streams end, and reads their logs on the executors."""

    def __init__(self, options: TableOptions, schema: StructType) -> None:
        self._options, self._schema = options, schema

    def partitions(self) -> list[InputPartition]:
        options = self._options
        lake = options.existing_lake()
        if options.table == "runs":
            taps = options.taps or [tap.tap_id for tap in lake.taps()]
            return part.pack([Part(tap) for tap in taps], options)
        ends = Ends(Follower(lake.store), options.taps, options.streams)
        return part.pack(part.of_streams(Cursor(), Cursor(ends.streams())), options)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return part.batches(self._options, self._schema, partition)
