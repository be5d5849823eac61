"""A published table as a table of DuckDB: always one whole version, from any store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import duckdb
import pyarrow as pa

from singerlake.decode.arrow_type import arrow_schema
from singerlake.errors import MissingFile, NotFound
from singerlake.format.record_type import Type, struct
from singerlake.projection.document import Published, PublishedFile, PublishedKeys
from singerlake.projection.file_format import FORMATS
from singerlake.projection.schema import record_of
from singerlake.projection.version import require_published
from singerlake.projection.widening import conformed
from singerlake.sql.table.dataset import relation
from singerlake.sql.table.scans import Scans
from singerlake.store import Store


@dataclass(frozen=True)
class PublishedTable:
    """The files of one version, each brought to the version's schema."""

    store: Store
    keys: PublishedKeys
    version: Published
    scans: Scans

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        return relation(connection, self)

    @cached_property
    def record(self) -> Type:
        return record_of(self.version.schema)

    @cached_property
    def schema(self) -> pa.Schema:
        return arrow_schema(self.record.fields, ())

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self.scans.guarded(self._batches(columns))

    def counts(self) -> Iterator[int]:
        """As the version's document tells it."""
        return (file.records for file in self.version.files)

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        now = _narrowed(self.record, columns)
        schema = arrow_schema(now.fields, ())
        for file in self.version.files:
            was = record_of(self.version.schemas[file.schema])
            for batch in self._file(file, arrow_schema(was.fields, ()), columns):
                yield conformed(batch, schema, was, now)

    def _file(
        self, file: PublishedFile, schema: pa.Schema, columns: Sequence[str]
    ) -> Iterator[pa.RecordBatch]:
        key = self.keys.under(file.path)
        try:
            with self.store.open(key, file.bytes) as source:
                yield from FORMATS[self.version.settings.format].read(source, schema, columns)
        except NotFound:
            raise MissingFile(
                f"{self.store.url}/{key}: it was published, and is not there; a version is kept "
                "for the grace period after the next one is published: run the query again"
            ) from None


def published_table(store: Store, tap_id: str, stream: str, scans: Scans) -> PublishedTable:
    """The version that is published now. Raises `UnknownStream` and `CorruptDocument`."""
    keys = PublishedKeys(tap_id, stream)
    return PublishedTable(store, keys, require_published(store, keys), scans)


def _narrowed(record: Type, columns: Sequence[str]) -> Type:
    return struct({name: kind for name, kind in record.fields if name in columns})
