"""A stream as a table of DuckDB: every record, or the current rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import duckdb

from singerlake.decode.request import StreamRequest
from singerlake.decode.stream import StreamBatches, read, take
from singerlake.errors import ConfigError
from singerlake.lake import Snapshot, replication
from singerlake.lake.extent import covered
from singerlake.lake.log import Selection
from singerlake.lake.replication import Current
from singerlake.sql.misfit import MISFITS
from singerlake.sql.request import SqlRequest
from singerlake.sql.table.current import NEEDED, current, require_current
from singerlake.sql.table.dataset import relation
from singerlake.sql.table.scans import Scans
from singerlake.sql.table.stream_source import StreamSource, with_columns
from singerlake.store import Store


@dataclass(frozen=True)
class StreamTable:
    """The columns that are `shown` of a stream: of every record, or, with `keys`, of the current
    rows."""

    source: StreamSource
    shown: tuple[str, ...]
    keys: tuple[str, ...] | None = None

    def relation(self, connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyRelation:
        rows = relation(connection, self.source)
        if self.keys is None:
            return rows
        return current(rows, self.source.schema.names, self.keys, self.shown)


def stream_table(
    store: Store, tap_id: str, stream: str, request: SqlRequest, scans: Scans
) -> StreamTable:
    """The table of a stream. Raises `UnknownStream`, `ConfigError` and `DamageError`."""
    asked = StreamRequest(tap_id, stream, numbers=request.numbers, max_misfits=request.max_misfits)
    state = take(store, asked)
    decided = _decided(state, request)
    found = covered(state, request.extent) if decided is None else decided
    # Of current rows only the end is known yet: see `StreamSource`.
    selection = found.selection if decided is None else Selection(until=found.selection.until)
    rows = _rows(state, replace(asked, selection=selection))
    columns = [name for name, _ in rows.wanted.columns]
    own = {name.lower() for name in columns}
    # A property of the record hides the metadata column of its name.
    about = [name for name in request.metadata if name not in own]
    metadata = dict.fromkeys([*rows.wanted.metadata, *about])
    shown = (*columns, *metadata)
    if decided is None or not columns:  # the record of a bare stream is there as text
        source = StreamSource(with_columns(rows, columns, metadata), scans, decided)
        return StreamTable(source, shown)
    require_current(rows.merged, asked.keys)
    whole = with_columns(rows, columns, dict.fromkeys([*metadata, *NEEDED]))
    source = StreamSource(whole, scans, decided, whole_misfits=MISFITS in shown)
    return StreamTable(source, shown, rows.merged.key_properties)


def _decided(state: Snapshot, request: SqlRequest) -> Current | None:
    """Which commits hold the current rows; None where that is not asked."""
    if request.mode != "current":
        return None
    return replication.current(state, request.extent, request.replication_method)


def _rows(state: Snapshot, asked: StreamRequest) -> StreamBatches:
    try:
        return read(state, asked)
    except UnicodeEncodeError as error:
        raise ConfigError(
            f"stream {asked.stream!r} of {asked.tap!r} has a property {error.object!r}: half of a "
            "surrogate pair is no text that a column's name could hold; `singerlake cat` prints "
            "the records"
        ) from None
