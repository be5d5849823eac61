"""Streams of any number of files: a real log, made by the core's own functions.

The files' entries are as a writer would make them; the data objects they name are not there,
since neither a commit nor a selection of files reads one. A real writer adds to them what `lines`
gives.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import msgspec

from singerlake.format import document, times
from singerlake.format import keys as key_names
from singerlake.format import manifest as manifests
from singerlake.format.keys import FileName, StreamKeys
from singerlake.format.manifest import File, Manifest
from singerlake.format.schema import Schema
from singerlake.lake import commit
from singerlake.lake.log import Head
from singerlake.store import Store

TAP = "tap-bench--singerlake"
SIZES = (10, 1_000, 100_000)
END = datetime(2026, 1, 1, tzinfo=timezone.utc)
YEAR = timedelta(days=365)
RECORDS = 10

SCHEMA = Schema(
    {
        "type": "object",
        "properties": {"id": {"type": "integer"}, "name": {"type": ["null", "string"]}},
    },
    ["id"],
)
WRITER_ID = "loader-7d9f8b6c5d-x2x4q-12345-0a1b2c3d"
RUN_ID = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class Made:
    """A stream in a store, and what it holds."""

    keys: StreamKeys
    manifest: Manifest
    files: tuple[File, ...]

    def restore(self, store: Store) -> Head:
        """Put the stream back to what it was made as."""
        store.delete(self.keys.manifest)
        return Head(self.manifest, store.create(self.keys.manifest, document.encode(self.manifest)))


def entries(stream: str, count: int, span: timedelta = YEAR) -> tuple[File, ...]:
    """Entries whose times are spread evenly over the time before `END`, in order."""
    schema_hash, step = SCHEMA.hash(), span / count
    return tuple(
        _entry(stream, schema_hash, END - span + number * step, step, number)
        for number in range(count)
    )


def _entry(stream: str, schema_hash: str, first: datetime, step: timedelta, number: int) -> File:
    last = first + step * 0.9
    return File(
        path=key_names.file_path(schema_hash, FileName(stream, first, last)),
        sequence=number + 1,
        records=50_000 + number,
        bytes=1_500_000 + number,
        raw_bytes=15_000_000 + number,
        first=first,
        last=last,
        checksum="sha256:" + hashlib.sha256(str(number).encode()).hexdigest(),
        writer_id=WRITER_ID,
        run_id=RUN_ID,
        committed=last,
    )


def make(store: Store, stream: str, count: int, tap: str = TAP) -> Made:
    """A stream of `count` files, with the segments that so many commits leave."""
    return make_of(store, stream, entries(stream, count), tap)


def make_of(store: Store, stream: str, files: tuple[File, ...], tap: str = TAP) -> Made:
    """A stream of these files."""
    keys = StreamKeys(tap, stream)
    now = commit.new_commit(WRITER_ID)
    empty = commit.new_manifest(keys, now)
    whole = manifests.append(empty, files, now, {SCHEMA.hash(): SCHEMA.digest()})
    manifest = commit.seal_all(store, keys, whole)
    store.create(keys.manifest, document.encode(manifest))
    return Made(keys, manifest, files)


def lines(stream: str, number: int) -> list[bytes]:
    """A tap's output: ten records, whose times no other file has."""
    schema = {
        "type": "SCHEMA",
        "stream": stream,
        "schema": SCHEMA.schema,
        "key_properties": SCHEMA.key_properties,
    }
    record = {
        "type": "RECORD",
        "stream": stream,
        "record": {"id": number, "name": "somebody"},
        "time_extracted": times.rfc3339(END + timedelta(seconds=number)),
    }
    return [msgspec.json.encode(schema), *[msgspec.json.encode(record)] * RECORDS]
