"""Whatever bytes a store or a tap may hold, given to the code that reads them.

Each target returns a result or raises one of our errors: anything else is a bug. Shared by
Hypothesis (`test_hostile_input.py`) and by atheris (`python -m tests.faults.hostile_atheris`).
"""

from __future__ import annotations

import bz2
import io
import zlib
from collections.abc import Callable

from singerlake.errors import SingerlakeError
from singerlake.format import (
    block,
    catalogue,
    compression,
    keys,
    lake_document,
    lock_record,
    manifest,
    merge,
    message,
    singer_file,
)
from singerlake.format import seal as seals
from singerlake.format.origin import Origin

Target = Callable[[bytes], object]

SCHEMA = b'{"type":"SCHEMA","stream":"s","schema":{"properties":{"id":{}}},"key_properties":["id"]}'
RECORD = (
    b'{"type":"RECORD","stream":"s","record":{"id":1,"x":[null,1.5e3]},'
    b'"time_extracted":"2026-01-01T00:00:00.5Z"}'
)


def a_line(data: bytes) -> object:
    envelope = message.decode(data)
    if envelope.type == "SCHEMA":
        schema = message.decode_schema(data)
        return schema.hash(), schema.digest(), catalogue.entry(envelope.stream, schema)
    return message.record_of(data) if envelope.type == "RECORD" else envelope


def a_block(data: bytes) -> object:
    return block.RecordDecoder("s", ["id"]).summarise(data), block.summarise(data, "s")


def a_manifest(data: bytes) -> object:
    found = manifest.decode(data, "here")
    return manifest.totals(found), seals.due_seal(found), manifest.encode(found)


def a_segment(data: bytes) -> object:
    return manifest.decode_segment(data, "here")


def a_merge(data: bytes) -> object:
    return merge.decode(data, "here").line_ranges(lambda number: 1 < number <= 2)


def a_lock(data: bytes) -> object:
    return lock_record.encode(lock_record.decode(data, "here"))


def a_catalogue(data: bytes) -> object:
    entries = catalogue.decode(data, "here")
    hashes = [catalogue.schema_hash(entry) for entry in entries.values()]
    return hashes, catalogue.encode("tap", entries.values())


def a_lake_document(data: bytes) -> object:
    body = lake_document.with_taps(lake_document.decode(data, "here"), ["tap"])
    tags = {"one": "two"}
    return lake_document.encode(lake_document.annotated(body, "tap", {"owner": "x"}, tags))


def a_key(data: bytes) -> object:
    text = data.decode("utf-8", "surrogateescape")
    return keys.parse(text), keys.FileName.parse(text), Origin.parse(text)


def a_file(ending: str) -> Target:
    def read(data: bytes) -> object:
        chunks = compression.blocks(io.BytesIO(data), ending, "here")
        return singer_file.scan(chunks, "here"), compression.origin(data)

    return read


def some_lines(data: bytes) -> object:
    whole = compression.blocks(io.BytesIO(data), "", "here")
    return sum(map(len, compression.some_lines(whole, 1, 2)))


TARGETS: dict[str, Target] = {
    "message lines": a_line,
    "blocks of lines": a_block,
    "manifests": a_manifest,
    "segments": a_segment,
    "merge documents": a_merge,
    "lock files": a_lock,
    "catalogues": a_catalogue,
    "lake documents": a_lake_document,
    "keys and names": a_key,
    "gzip files": a_file(".gz"),
    "bzip2 files": a_file(".bz2"),
    "plain files": a_file(""),
    "parts of files": some_lines,
}


def examples() -> dict[str, bytes]:
    """A right one for each target: what fuzzing begins with, and changes."""
    time = b'"2026-01-01T00:00:00Z"'
    row = (
        b'{"path":"StxYGwZ/s-20260101T000000Z-20260101T000000Z.singer.gz","sequence":1,"records":1,'
        b'"bytes":9,"raw_bytes":9,"first":%s,"last":%s,"checksum":"sha256:00","committed":%s,'
        b'"first_sequence":1,"merge":{"path":"_merges/x","checksum":"y"}}' % ((time,) * 3)
    )
    segment = (
        b'{"path":"_segments/x","level":1,"first_sequence":1,"last_sequence":2,"files":1,'
        b'"records":1,"bytes":1,"first":%s,"last":%s,"checksum":"z"}' % ((time,) * 2)
    )
    lines = SCHEMA + b"\n" + RECORD + b"\n"
    head = b'{"format":"singerlake.%s","format_version":1,'
    return {
        "message lines": RECORD,
        "blocks of lines": RECORD + b"\n" + RECORD + b"\n",
        "manifests": head
        % b"manifest"
        + b'"tap_id":"t","stream":"s","log_id":"l","commit":{"id":"c","time":%s,"writer_id":"w"},'
        b'"last_sequence":1,"versions":{"StxYGwZ":{"version":1,"first_seen":%s,"digest":"d"}},'
        b'"gaps":[{"first_sequence":1,"last_sequence":1,"reason":"r","recorded":%s}],'
        b'"segments":[%s],"files":[%s]}' % (time, time, time, segment, row),
        "segments": head % b"segment" + b'"files":[%s],"segments":[%s]}' % (row, segment),
        "merge documents": head % b"merge"
        + b'"path":"p","parts":[[1,2],[3,4]],"retired":[{"path":"p","checksum":"c","at":%s}]}'
        % time,
        "lock files": b'{"writer-id":"w","acquired":%s,"refreshed":%s}' % (time, time),
        "catalogues": catalogue.encode("t", [catalogue.entry("s", message.decode_schema(SCHEMA))]),
        "lake documents": head % b"lake"
        + b'"lake_id":"0","created":%s,"taps":{"t":{"owner":"","tags":{}}}}' % time,
        "keys and names": b"raw/t/s/StxYGwZ/s-20260101T000000Z-20260101T000000.5Z.singer.gz",
        "gzip files": compression.member(SCHEMA + b"\n", name="w/r/1")
        + compression.member(RECORD + b"\n"),
        "bzip2 files": bz2.compress(lines),
        "plain files": lines,
        "parts of files": lines,
    }


def outcome(target: Target, data: bytes) -> str:
    """`read` or `refused`; whatever else is raised is a bug, and goes on."""
    try:
        target(data)
    except SingerlakeError:
        return "refused"
    return "read"


def whole(data: bytes) -> bytes:
    """The bytes as a gzip file: what is inside is reached, though checksums are in the way."""
    squeeze = zlib.compressobj(1, wbits=31)
    return squeeze.compress(data) + squeeze.flush()
