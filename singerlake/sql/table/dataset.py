"""What DuckDB scans: rows that are made while it reads them, with the columns that it asks for.

DuckDB asks a pyarrow dataset for its schema, and for a scanner of some columns with a filter. So a
dataset of our own gives it a stream without a copy: every scan decodes anew, a view can stand in a
query twice, and a column that no query names is never decoded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.dataset


class Source(Protocol):
    """Rows that can be read again and again."""

    @property
    def schema(self) -> pa.Schema: ...

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows with these columns at least, in any order of columns."""


class SourceDataset(pyarrow.dataset.Dataset):  # type: ignore[misc]
    """A source as DuckDB takes it."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def schema(self) -> pa.Schema:
        return self._source.schema

    def scanner(
        self, columns: Sequence[str] | None = None, filter: Any = None, **_: Any
    ) -> SourceScanner:
        names = self.schema.names if columns is None else columns
        return SourceScanner(self._source, tuple(names), filter)


@dataclass(frozen=True)
class SourceScanner:
    """One scan. DuckDB leaves the filter to it, and does not look at the rows again."""

    source: Source
    columns: tuple[str, ...]
    filter: Any

    def to_reader(self) -> pa.RecordBatchReader:
        fields = [self.source.schema.field(name) for name in self.columns]
        return pa.RecordBatchReader.from_batches(pa.schema(fields), self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        for batch in self.source.batches(self._needed()):
            rows = batch if self.filter is None else batch.filter(self.filter)
            if rows.num_rows:
                yield rows.select(list(self.columns))

    def _needed(self) -> tuple[str, ...]:
        """The columns that are asked for, and those of the filter.

        A filter cannot be asked for its columns, but its text holds their names: to decode one
        more, whose name only happens to be there, is no mistake.
        """
        if self.filter is None:
            return self.columns
        text = str(self.filter)
        others = (name for name in self.source.schema.names if name in text)
        return tuple(dict.fromkeys([*self.columns, *others]))
