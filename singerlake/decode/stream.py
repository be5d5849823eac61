"""A stream as Arrow record batches, in this process: what a reader without Spark needs.

`read(take(store, request), request)` is iterated for record batches in commit order, and each pass
reads anew. Its `schema` is known before a value is seen.

Values that do not fit are null, and counted: `batches(tally)` gives the same batches, and the tally
has the misfits by column.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from singerlake.decode import file, version_union
from singerlake.decode.arrow_type import arrow_schema
from singerlake.decode.batch import Decoder
from singerlake.decode.misfit import Tally
from singerlake.decode.request import StreamRequest, Wanted
from singerlake.decode.version_union import MergedSchema
from singerlake.errors import ConfigError
from singerlake.format.nearest import did_you_mean
from singerlake.format.record_type import Type
from singerlake.lake import snapshot
from singerlake.lake.log import Selection
from singerlake.lake.snapshot import Snapshot
from singerlake.store import Store


@dataclass(frozen=True)
class StreamBatches:
    """The rows of one read: a fixed state of the stream, so that each pass gives the same."""

    snapshot: Snapshot
    selection: Selection
    merged: MergedSchema
    wanted: Wanted
    schema: pa.Schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        return self.batches(Tally())

    def batches(self, misfits: Tally) -> Iterator[pa.RecordBatch]:
        """The rows, in commit order; `misfits` has all of them once the last row has come."""
        decoder = Decoder(self.wanted, self.schema, misfits)
        files = self.snapshot.files(self.selection)
        store, keys = self.snapshot.store, self.snapshot.keys
        return file.batches(store, keys, files, self.selection, self.wanted, decoder)


def read(stream: Snapshot, request: StreamRequest) -> StreamBatches:
    """What the request asks of a stream. Raises `ConfigError` for what the stream does not have."""
    merged = version_union.of_stream(stream, request)
    columns, metadata = columns_of(merged, request), metadata_of(merged, request)
    selection = selected(stream, request)
    wanted = Wanted(columns, metadata, request.max_misfits, selection.start, selection.end)
    return StreamBatches(stream, selection, merged, wanted, arrow_schema(columns, metadata))


def selected(stream: Snapshot, request: StreamRequest) -> Selection:
    """Which files are read, those of the chosen schema versions. Raises `ConfigError`."""
    if request.schema_versions == "all":
        return request.selection
    hashes = frozenset(version_union.chosen_hashes(stream, request))
    return replace(request.selection, schema_hashes=hashes)


def columns_of(merged: MergedSchema, request: StreamRequest) -> tuple[tuple[str, Type], ...]:
    """The record's columns that the request chooses, in their order. Raises `ConfigError`."""
    known = dict(merged.record.fields)
    if request.columns is None:
        return tuple(known.items())
    missing = [name for name in request.columns if name not in known]
    if missing:
        raise ConfigError(
            f"stream {request.stream!r} of {request.tap!r} has no column {', '.join(missing)}; "
            f"it has {', '.join(known) or 'none'}.{did_you_mean(missing[0], known)}"
        )
    return tuple((name, known[name]) for name in dict.fromkeys(request.columns))


def metadata_of(merged: MergedSchema, request: StreamRequest) -> tuple[str, ...]:
    """The metadata columns; a stream that declares no property has its records as text."""
    bare = not merged.record.fields and "_record" not in request.metadata
    return (*request.metadata, "_record") if bare else request.metadata


def take(store: Store, request: StreamRequest) -> Snapshot:
    """The stream as it is now. Raises `UnknownStream`, `UnknownTap` or `NotALake`."""
    return snapshot.take(store, request.keys)
