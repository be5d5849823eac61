"""Committed files of a stream, read into record batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

from singerlake.decode.activation import ActivationDecoder
from singerlake.decode.batch import BLOCK, Decoder
from singerlake.decode.request import COMMIT_COLUMNS, FILE_COLUMNS, PART_COLUMNS, FileFacts, Wanted
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
            in_time=is_in_time(file, wanted),
            parts=merged.parts if merged else (),
            commits=_commits(merged, wanted) if merged else {},
            ranges=ranges,
        )
        yield from decoder.batches(facts, chunks)


def _merge(
    store: Store, keys: StreamKeys, file: File, selection: Selection, wanted: Wanted
) -> Merge | None:
    """What a merged file was made of, where only some of it, or the number of each line, is
    wanted."""
    if selection.holds_all_of(file) and PART_COLUMNS.isdisjoint(wanted.metadata):
        return None
    return merge.read_merge(store, keys, file)


def _constants(keys: StreamKeys, file: File, key: str) -> dict[str, Any]:
    values = (keys.tap_id, keys.stream, file.schema_hash, file.sequence, key)
    constants = dict(zip(FILE_COLUMNS, values, strict=True))
    # A merged row says nothing of its commits, and a listing nothing at all.
    if file.merge is None and file.checksum:
        constants |= {"_run_id": file.run_id or None, "_committed": file.committed}
    return constants


def _commits(merged: Merge, wanted: Wanted) -> dict[str, list[Any]]:
    """For each part, who committed it and when, as far as that is known and wanted."""
    if set(COMMIT_COLUMNS).isdisjoint(wanted.metadata):
        return {}
    rows = {row.sequence: row for row in merged.known_rows()}
    known = [rows.get(sequence) for sequence, _ in merged.parts]
    return {
        "_run_id": [row.run_id or None if row else None for row in known],
        "_committed": [row.committed if row else None for row in known],
    }


def is_in_time(file: File, wanted: Wanted) -> bool:
    start, end = wanted.start, wanted.end
    return (start is None or file.first >= start) and (end is None or file.last < end)
