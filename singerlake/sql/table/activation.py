"""Which full-table version of a stream is in force: the one that was last activated."""

from __future__ import annotations

from dataclasses import replace

from singerlake.decode.activation import ActivationDecoder
from singerlake.decode.arrow_type import arrow_schema
from singerlake.decode.file import batches
from singerlake.decode.stream import StreamBatches
from singerlake.lake.log import Selection

VERSION = "_version"


def activated_version(rows: StreamBatches, selection: Selection) -> int | None:
    """The version that the newest ACTIVATE_VERSION message of these commits names.

    Reads the commits once, at the speed of decompression.
    """
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
