"""The files of a partition, read on an executor into record batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import InputPartition

from singerlake.format import compression
from singerlake.format.manifest import File
from singerlake.format.merge import Merge
from singerlake.lake import merge, source
from singerlake.lake.log import Selection
from singerlake.spark.activation import ActivationDecoder
from singerlake.spark.decode import BLOCK, Decoder
from singerlake.spark.options import ReadOptions
from singerlake.spark.plan import FilesPartition
from singerlake.spark.wanted import FILE_COLUMNS, FileFacts, Wanted
from singerlake.store import Store


def arrow_schema(schema: spark_types.StructType) -> pa.Schema:
    """The Arrow schema that Spark requires of the batches."""
    from pyspark.sql.pandas.types import to_arrow_schema

    return to_arrow_schema(schema, timezone="UTC")


class FileReader:
    """Reads planned files into batches: the part of a reader that goes to the executors."""

    def __init__(
        self, options: ReadOptions, wanted: Wanted, schema: spark_types.StructType
    ) -> None:
        self.options, self.wanted, self.spark_schema = options, wanted, schema

    def batches(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        if not isinstance(partition, FilesPartition):
            return  # Spark's own, where there is nothing to read
        store, keys = self.options.store(), self.options.keys
        schema = arrow_schema(self.spark_schema)
        decoder: Decoder | ActivationDecoder = (
            ActivationDecoder(schema) if self.options.activations else Decoder(self.wanted, schema)
        )
        for file in partition.files:
            key = keys.under(file.path)
            chunks = source.committed_blocks(store, keys, file, BLOCK)
            selection, skip = partition.selection, 0
            merged = self._merge(store, file, selection)
            if merged is not None and merged.parts and not selection.holds_all_of(file):
                skip, take = merged.lines_between(selection.since, selection.until)
                chunks = compression.some_lines(chunks, skip, take)
            facts = FileFacts(
                where=f"{store.url}/{key}",
                constants=self._constants(file, key),
                in_time=self._is_in_time(file),
                parts=merged.parts if merged else (),
                skipped=skip,
            )
            yield from decoder.batches(facts, chunks)

    def _merge(self, store: Store, file: File, selection: Selection) -> Merge | None:
        """What a merged file was made of, where only some of it, or the number of each line, is
        wanted."""
        if selection.holds_all_of(file) and "_sequence" not in self.wanted.metadata:
            return None
        return merge.read_merge(store, self.options.keys, file)

    def _constants(self, file: File, key: str) -> dict[str, Any]:
        values = (self.options.tap, self.options.stream, file.schema_hash, file.sequence, key)
        return dict(zip(FILE_COLUMNS, values, strict=True))

    def _is_in_time(self, file: File) -> bool:
        start, end = self.options.start, self.options.end
        return (start is None or file.first >= start) and (end is None or file.last < end)
