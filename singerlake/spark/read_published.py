"""Reading what a projection published: always one whole version."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from singerlake.errors import MissingFile, NotFound
from singerlake.format.record_type import Type
from singerlake.projection.document import Published, PublishedFile, PublishedKeys
from singerlake.projection.file_format import FORMATS
from singerlake.projection.version import published, published_files, require_published
from singerlake.projection.widening import conformed
from singerlake.spark.evolution import record_of
from singerlake.spark.lend import share
from singerlake.store import Store, open_store

__all__ = ["published", "published_files", "read_published", "read_published_arrow"]


def read_published_arrow(
    out: str | Path, tap: str, stream: str, storage_options: Mapping[str, Any] | None = None
) -> Any:
    """The version as a pyarrow Table, without Spark; in the order of its files."""
    store, keys = open_store(out, storage_options), PublishedKeys(tap, stream)
    reader = _Reader.of(store, keys, require_published(store, keys))
    batches = [batch for file in reader.version.files for batch in reader.batches(file)]
    return pa.Table.from_batches(batches, reader.schema.arrow)


def read_published(
    spark: SparkSession,
    out: str | Path,
    tap: str,
    stream: str,
    storage_options: Mapping[str, Any] | None = None,
) -> DataFrame:
    """The version as a DataFrame: the executors read the files, from any store."""
    store, keys = open_store(out, storage_options), PublishedKeys(tap, stream)
    version = require_published(store, keys)
    share(spark)
    numbers = spark.range(0, len(version.files), 1, max(1, len(version.files)))
    return numbers.mapInArrow(_Reader.of(store, keys, version), StructType.fromJson(version.schema))


@dataclass(frozen=True)
class _Schema:
    """A schema of the document, as Arrow has it and as our own type."""

    arrow: Any
    record: Type

    @staticmethod
    def of(schema: dict[str, Any]) -> _Schema:
        found = StructType.fromJson(schema)
        return _Schema(to_arrow_schema(found, timezone="UTC"), record_of(found))


@dataclass(frozen=True)
class _Reader:
    """Reads files of one version, each with the schema that it was written with."""

    store: Store
    keys: PublishedKeys
    version: Published
    schema: _Schema
    schemas: tuple[_Schema, ...]

    @staticmethod
    def of(store: Store, keys: PublishedKeys, version: Published) -> _Reader:
        schemas = tuple(map(_Schema.of, version.schemas))
        return _Reader(store, keys, version, _Schema.of(version.schema), schemas)

    def __call__(self, numbers: Iterator[Any]) -> Iterator[Any]:
        """What a task does: read the files with these numbers."""
        for batch in numbers:
            for number in batch.column(0).to_pylist():
                yield from self.batches(self.version.files[number])

    def batches(self, file: PublishedFile) -> Iterator[Any]:
        key = self.keys.under(file.path)
        read, was = FORMATS[self.version.settings.format].read, self.schemas[file.schema]
        try:
            with self.store.open(key, file.bytes) as source:
                for batch in read(source, was.arrow, None):
                    yield conformed(batch, self.schema.arrow, was.record, self.schema.record)
        except NotFound:
            raise MissingFile(
                f"{self.store.url}/{key}: it was published, and is not there; a version is kept "
                "for the grace period after the next one is published: read it anew"
            ) from None
