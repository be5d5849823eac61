"""A stream as rows for DuckDB: decoded by the rules that hold in Spark too."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from singerlake.decode.arrow_type import arrow_schema
from singerlake.decode.count import counts
from singerlake.decode.stream import StreamBatches
from singerlake.lake.log import Selection
from singerlake.lake.replication import Current
from singerlake.sql.misfit import MISFITS
from singerlake.sql.table.activation import VERSION, activated_version
from singerlake.sql.table.scans import Scans

logger = logging.getLogger("singerlake.sql")

_ABOUT_ALL = frozenset({MISFITS, "_corrupt_record"})


@dataclass(frozen=True)
class StreamSource:
    """The rows of one state of a stream; every scan decodes the columns that it needs.

    With `decided`, only commits that hold current rows are read, and rows of an older full-table
    version than the one in force are left out. With `whole_misfits`, a scan of `_misfits` decodes
    every column, so that it has the misfits of all; otherwise it has those of the scanned columns.
    """

    rows: StreamBatches
    scans: Scans
    decided: Current | None = None
    whole_misfits: bool = True

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self.scans.guarded(self._batches(columns))

    def counts(self) -> Iterator[int]:
        """From the log, where it tells how many rows there are."""
        return self.scans.guarded(self._counts())

    def _counts(self) -> Iterator[int]:
        selection, version = self._in_force
        if version is None:
            yield from counts(self.rows.snapshot, selection)
            return
        for batch in self._batches((VERSION,)):
            yield batch.num_rows

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        selection, version = self._in_force
        rows = replace(self.rows, selection=selection)
        if version is None:
            yield from self.scans.counted(self._decoded(rows, columns))
            return
        keep = pc.field(VERSION).is_null() | self._is_in_force(version)
        for batch in self.scans.counted(self._decoded(rows, {*columns, VERSION})):
            yield batch.filter(keep)

    def _is_in_force(self, version: int) -> pc.Expression:
        """Rows of a newer version are of a load that has not ended: of a full table, and without a
        key, they do not count yet."""
        is_full_table = self.decided is not None and self.decided.run is not None
        if is_full_table or not self.rows.merged.key_properties:
            return pc.field(VERSION) == version
        return pc.field(VERSION) >= version

    def _decoded(self, rows: StreamBatches, columns: Collection[str]) -> StreamBatches:
        whole = self.whole_misfits and not _ABOUT_ALL.isdisjoint(columns)
        own = [name for name, _ in rows.wanted.columns if whole or name in columns]
        about = [name for name in rows.wanted.metadata if name in columns]
        return with_columns(rows, own, about)

    @cached_property
    def _in_force(self) -> tuple[Selection, int | None]:
        """The commits that count, and the full-table version that is in force.

        Found at the first scan, for it reads the stream. A version that the run has activated says
        more than its commits, for a load may have taken several runs, unless somebody has asked
        for a run or a full table. What a run has activated that does not count is not in force.
        """
        decided = self.decided
        if decided is None:
            return self.rows.selection, None
        version = None
        if self.rows.wanted.columns:
            version = activated_version(self.rows, decided.selection)
        if version is not None and not decided.is_asked:
            return Selection(until=decided.selection.until), version
        if decided.warning and version is None:
            logger.warning("%s", decided.warning)
        return decided.selection, version


def with_columns(
    rows: StreamBatches, columns: Collection[str], metadata: Collection[str]
) -> StreamBatches:
    """The same rows with these columns of theirs, and this metadata."""
    chosen = tuple(pair for pair in rows.wanted.columns if pair[0] in columns)
    about = tuple(metadata)
    wanted = replace(rows.wanted, columns=chosen, metadata=about)
    return replace(rows, wanted=wanted, schema=arrow_schema(chosen, about))
