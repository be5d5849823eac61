"""Committed files of a stream, read into record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from singerlake.decode.activation import ActivationDecoder
from singerlake.decode.batch import BLOCK, Decoder
from singerlake.decode.request import FILE_COLUMNS, FileFacts, Wanted
from singerlake.format import compression
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.format.merge import Merge
from singerlake.lake import merge, source
from singerlake.lake.log import Selection
from singerlake.store import Store


def batches(
    store: Store,
    keys: StreamKeys,
    files: Iterable[File],
    selection: Selection,
    wanted: Wanted,
    decoder: Decoder | ActivationDecoder,
) -> Iterator[pa.RecordBatch]:
    """The rows of these files, in their order: of a merged file, those that are selected."""
    for file in files:
        key = keys.under(file.path)
        chunks = source.committed_blocks(store, keys, file, BLOCK)
        merged = _merge(store, keys, file, selection, wanted)
        ranges: tuple[tuple[int, int], ...] | None = None
        if merged is not None and merged.parts and not selection.holds_all_of(file):
            ranges = tuple(merged.line_ranges(selection.holds))
            chunks = compression.line_ranges(chunks, ranges)
        facts = FileFacts(
            where=f"{store.url}/{key}",
            constants=_constants(keys, file, key),
            in_time=_is_in_time(file, wanted),
            parts=merged.parts if merged else (),
            ranges=ranges,
        )
        yield from decoder.batches(facts, chunks)


def _merge(
    store: Store, keys: StreamKeys, file: File, selection: Selection, wanted: Wanted
) -> Merge | None:
    """What a merged file was made of, where only some of it, or the number of each line, is
    wanted."""
    if selection.holds_all_of(file) and "_sequence" not in wanted.metadata:
        return None
    return merge.read_merge(store, keys, file)


def _constants(keys: StreamKeys, file: File, key: str) -> dict[str, Any]:
    values = (keys.tap_id, keys.stream, file.schema_hash, file.sequence, key)
    return dict(zip(FILE_COLUMNS, values, strict=True))


def _is_in_time(file: File, wanted: Wanted) -> bool:
    start, end = wanted.start, wanted.end
    return (start is None or file.first >= start) and (end is None or file.last < end)
