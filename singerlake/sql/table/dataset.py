"""What DuckDB scans: rows that are made while it reads them, with the columns that it asks for.

DuckDB asks a pyarrow dataset for its schema, and for a scanner of some columns with a filter. So a
dataset of our own gives it a stream without a copy: every scan decodes anew, a view can stand in a
query twice, and a column that no query names is never decoded.

Where a query needs no column, as `count(*)`, DuckDB asks for the first one: the dataset has one
before all others that costs nothing, and views leave it out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import duckdb
import pyarrow as pa
import pyarrow.dataset

from singerlake.sql.name import quoted

_ROW = "_row"
"""The first column, which holds nothing."""

_MANY = 1 << 20
"""Rows of a batch that has no other column."""


class Source(Protocol):
    """Rows that can be read again and again."""

    @property
    def schema(self) -> pa.Schema: ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows with these columns at least, in any order of columns."""

    def counts(self) -> Iterator[int]:
        """Numbers that add up to the number of rows."""


def relation(connection: duckdb.DuckDBPyConnection, source: Source) -> duckdb.DuckDBPyRelation:
    """The rows of a source, with its columns in their order; DuckDB may call them otherwise."""
    rows = connection.from_arrow(SourceDataset(source))
    return rows.select(", ".join(map(quoted, rows.columns[1:])))


class SourceDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]
    """A source as DuckDB takes it."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def schema(self) -> pa.Schema:
        return pa.schema([pa.field(self._row, pa.null()), *self._source.schema])

    @cached_property
    def _row(self) -> str:
        """No other column has this name, in whatever case."""
        taken = {name.lower() for name in self._source.schema.names}
        name = _ROW
        while name in taken:
            name = f"_{name}"
        return name

    def scanner(
        self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any
    ) -> SourceScanner:
        names = self.schema.names if columns is None else columns
        return SourceScanner(self._source, self.schema, tuple(names), filter)


@dataclass(frozen=True)
class SourceScanner:
    """One scan. DuckDB leaves the filter to it, and does not look at the rows again."""

    source: Source
    schema: pa.Schema
    columns: tuple[str, ...]
    filter: Any

    def to_reader(self) -> pa.RecordBatchReader:
        schema = pa.schema([self.schema.field(name) for name in self.columns])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        needed = self._needed()
        if not needed and self.filter is None:
            yield from self._counted(schema)
            return
        for batch in self.source.batches(needed):
            rows = batch if self.filter is None else batch.filter(self.filter)
            if rows.num_rows:
                yield self._row_added(rows).select(list(self.columns))

    def _counted(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        for count in self.source.counts():
            for begin in range(0, count, _MANY):
                rows = min(count - begin, _MANY)
                yield pa.RecordBatch.from_arrays([pa.nulls(rows)] * len(schema), schema=schema)

    def _row_added(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        name = self.schema.names[0]
        if name not in self.columns:
            return rows
        return rows.append_column(name, pa.nulls(rows.num_rows))

    def _needed(self) -> tuple[str, ...]:
        """The columns of the source that are asked for, and those of the filter.

        A filter cannot be asked for its columns, but its text holds their names: to decode one
        more, whose name only happens to be there, is no mistake.
        """
        own = self.schema.names[1:]
        text = "" if self.filter is None else str(self.filter)
        asked = [name for name in self.columns if name in own]
        return tuple(dict.fromkeys([*asked, *(name for name in own if name in text)]))
