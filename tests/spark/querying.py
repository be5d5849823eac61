"""Streaming queries over a lake, and the rows that they give."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from singerlake.spark import register
from tests.spark.lakes import STREAM, TAP, land, record_line, schema_line

SCHEMA = schema_line({"id": {"type": "integer"}})


class Sink:
    """Rows by batch, as foreachBatch hands them over; a batch that comes again replaces itself."""

    def __init__(self, spark: SparkSession, root: Path, checkpoint: Path) -> None:
        register(spark)
        self.spark, self.root, self.checkpoint = spark, root, checkpoint
        self.batches: dict[int, list[int]] = {}

    def __call__(self, df: DataFrame, batch: int) -> None:
        self.batches[batch] = [row["id"] for row in df.collect()]

    @property
    def ids(self) -> list[int]:
        return sorted(number for batch in self.batches.values() for number in batch)

    def start(self, available_now: bool = True, **options: Any) -> StreamingQuery:
        reader = self.spark.readStream.format("singerlake").options(tap=TAP, stream=STREAM)
        df = reader.options(**options).load(str(self.root))
        writer = df.writeStream.foreachBatch(self).option("checkpointLocation", self.checkpoint)
        if available_now:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime="100 milliseconds").start()

    def run(self, **options: Any) -> None:
        """Once, unless Spark's own ten seconds for the start of a Python worker were too few."""
        for _ in range(3):
            try:
                self.start(**options).awaitTermination(250)
            except StreamingQueryException as error:
                if "failed to connect back" not in str(error):
                    raise
            else:
                return
        raise AssertionError("no Python worker came up")


def land_ids(sink: Sink, *ids: int) -> None:
    for number in ids:
        land(sink.root, [SCHEMA, record_line({"id": number})])


def fails(sink: Sink, message: str, **options: Any) -> None:
    with pytest.raises((StreamingQueryException, PySparkException), match=message):
        sink.start(**options).awaitTermination(60)
