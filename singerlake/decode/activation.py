"""ACTIVATE_VERSION messages: which full-table version of a stream is the one in force."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from singerlake.decode.json_text import members
from singerlake.decode.request import FileFacts
from singerlake.decode.value import converter
from singerlake.format import compression
from singerlake.format.record_type import LONG

ACTIVATE_VERSION = b'"ACTIVATE_VERSION"'
"""The type of such a message, as it stands in it."""

_version = converter(LONG, "version")


class ActivationDecoder:
    """Reads a file for its ACTIVATE_VERSION messages alone, in the place of its records."""

    def __init__(self, schema: pa.Schema) -> None:
        self.schema = schema

    def batches(self, file: FileFacts, chunks: Iterable[bytes]) -> Iterator[pa.RecordBatch]:
        """A row for each: the version, and where it stands."""
        position = 1 + file.skipped
        for block in compression.line_blocks(iter(chunks)):
            # A plain search first: blocks without the word pass at the speed of decompression.
            if ACTIVATE_VERSION not in block:
                position += block.count(b"\n")
                continue
            found = []
            for line in filter(bytes.strip, block.split(b"\n")):
                version = activated_by(line)
                if version is not None:
                    found.append((version, position))
                position += 1
            if found:
                yield self._batch(found, file)

    def _batch(self, found: list[tuple[int, int]], file: FileFacts) -> pa.RecordBatch:
        columns = {
            "_version": [version for version, _ in found],
            "_position": [position for _, position in found],
            "_sequence": [file.constants["_sequence"]] * len(found),
        }
        arrays = [pa.array(columns[field.name], field.type) for field in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def activated_by(line: bytes) -> int | None:
    """The version that a line activates; None where it does not."""
    if ACTIVATE_VERSION not in line:
        return None
    try:
        message = members(line)
    except (ValueError, RecursionError):
        return None
    if message.get("type", b"").strip() != ACTIVATE_VERSION:
        return None
    found: int | None = _version(message.get("version", b"null"), [])
    return found
