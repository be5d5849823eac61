"""The files of a partition, read on an executor into record batches."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import types as spark_types
from pyspark.sql.datasource import InputPartition

from singerlake.decode import file
from singerlake.decode.activation import ActivationDecoder
from singerlake.decode.batch import Decoder
from singerlake.decode.misfit import Tally, described
from singerlake.decode.request import Wanted
from singerlake.spark.options import ReadOptions
from singerlake.spark.plan import FilesPartition

logger = logging.getLogger("singerlake.spark")


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
        schema = arrow_schema(self.spark_schema)
        decoder: Decoder | ActivationDecoder = (
            ActivationDecoder(schema) if self.options.activations else Decoder(self.wanted, schema)
        )
        store, keys = self.options.store(), self.options.keys
        yield from file.batches(
            store, keys, partition.files, partition.selection, self.wanted, decoder
        )
        if isinstance(decoder, Decoder) and "_misfits" not in self.wanted.metadata:
            self._report(decoder.misfits)

    def _report(self, misfits: Tally) -> None:
        """In the task's log: whoever has not asked for the misfits looks there."""
        if misfits.total:
            logger.warning(
                "stream %r of %r: %s, read as null: %s",
                self.options.stream,
                self.options.tap,
                misfits,
                described(misfits.found, dict(self.wanted.columns)),
            )
