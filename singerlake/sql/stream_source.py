"""A stream as rows for DuckDB: decoded by the rules that hold in Spark too."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc

from singerlake.decode.activation import ActivationDecoder
from singerlake.decode.arrow_type import arrow_schema
from singerlake.decode.file import batches
from singerlake.decode.stream import StreamBatches
from singerlake.lake.log import Selection
from singerlake.sql.misfit import MISFITS
from singerlake.sql.scans import Scans

VERSION = "_version"
_ABOUT_ALL = frozenset({MISFITS, "_corrupt_record"})


@dataclass(frozen=True)
class StreamSource:
    """The rows of one state of a stream; every scan decodes the columns that it needs.

    With `activated_only`, rows of an older full-table version than the one that was last activated
    are left out. With `whole_misfits`, a scan of `_misfits` decodes every column, so that it has
    the misfits of all; otherwise it has those of the columns that are scanned.
    """

    rows: StreamBatches
    scans: Scans
    activated_only: bool = False
    whole_misfits: bool = True

    @property
    def schema(self) -> pa.Schema:
        return self.rows.schema

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        return self.scans.guarded(self._batches(columns))

    def _batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        version = self.activated_version if self.activated_only else None
        if version is None:
            yield from self.scans.counted(self._decoded(columns))
            return
        keep = pc.field(VERSION).is_null() | (pc.field(VERSION) >= version)
        for batch in self.scans.counted(self._decoded({*columns, VERSION})):
            yield batch.filter(keep)

    def _decoded(self, columns: Collection[str]) -> StreamBatches:
        whole = self.whole_misfits and not _ABOUT_ALL.isdisjoint(columns)
        own = [name for name, _ in self.rows.wanted.columns if whole or name in columns]
        about = [name for name in self.rows.wanted.metadata if name in columns]
        return with_columns(self.rows, own, about)

    @cached_property
    def activated_version(self) -> int | None:
        """The version that the newest ACTIVATE_VERSION message names; reads the stream once."""
        rows = self.rows
        # The message may stand in a file of another time or schema than the rows that it replaces.
        selection = Selection(until=rows.selection.until)
        schema = arrow_schema((), ("_sequence", "_position", VERSION))
        found = batches(
            rows.snapshot.store,
            rows.snapshot.keys,
            rows.snapshot.files(selection),
            selection,
            replace(rows.wanted, columns=(), metadata=tuple(schema.names)),
            ActivationDecoder(schema),
        )
        places = [tuple(row.values()) for batch in found for row in batch.to_pylist()]
        return max(places)[-1] if places else None


def with_columns(
    rows: StreamBatches, columns: Collection[str], metadata: Collection[str]
) -> StreamBatches:
    """The same rows with these columns of theirs, and this metadata."""
    chosen = tuple(pair for pair in rows.wanted.columns if pair[0] in columns)
    about = tuple(metadata)
    wanted = replace(rows.wanted, columns=chosen, metadata=about)
    return replace(rows, wanted=wanted, schema=arrow_schema(chosen, about))
