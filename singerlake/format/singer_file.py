"""What a Singer file holds: the SCHEMA line, then lines of that one stream.

{"type":"SCHEMA","stream":"orders","schema":{…},"key_properties":["id"]}
{"type":"RECORD","stream":"orders","record":{…},"time_extracted":"2026-11-16T02:54:14.5Z"}
…
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from singerlake.errors import BadMessage, CorruptFile
from singerlake.format import block, compression, message
from singerlake.format.block import Summary
from singerlake.format.schema import Schema


@dataclass(frozen=True)
class Content:
    """What reading a whole file tells."""

    stream: str
    schema: Schema
    summary: Summary
    raw_bytes: int


def scan(chunks: Iterable[bytes], where: str) -> Content:
    """Read a file's decompressed content to the end, and require that it is a Singer file.

    Raises `CorruptFile`, which names `where`.
    """
    raw_bytes = 0
    head: tuple[str, Schema] | None = None
    summary = Summary()
    try:
        for piece in compression.line_blocks(iter(chunks)):
            raw_bytes += len(piece)
            if not piece.strip():
                continue
            lines = piece
            if head is None:
                line, _, lines = piece.lstrip().partition(b"\n")
                head = _schema(line)
            summary += block.summarise(lines, head[0])
    except BadMessage as error:
        raise CorruptFile(f"{where}: {error}, within the first {raw_bytes} bytes") from error
    if head is None:
        raise CorruptFile(f"{where}: expected a SCHEMA line, found an empty file")
    return Content(*head, summary, raw_bytes)


def schema_line(chunks: Iterator[bytes], where: str) -> bytes:
    """The first line of a file, as stored."""
    for line in compression.lines(chunks):
        return line
    raise CorruptFile(f"{where}: expected a SCHEMA line, found an empty file")


def _schema(line: bytes) -> tuple[str, Schema]:
    envelope = message.decode(line)
    if envelope.type != "SCHEMA":
        raise BadMessage(f"expected the SCHEMA line first, found {envelope.type}")
    return envelope.stream, message.decode_schema(line)
