"""What is small in the store and large in memory, or large in both."""

from __future__ import annotations

import json
import os
import zlib
from pathlib import Path
from typing import Any

from singerlake import open_lake
from singerlake.format import keys as key_names
from singerlake.lake import log
from singerlake.store import LocalStore
from tests.faults.hostile_enemy import manifest, segment_row
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    edit,
    lock_key,
    record_line,
    schema_line,
    singer_file,
)

MEGABYTE = 1 << 20
HUGE = 8 << 30


def bomb(piece: bytes, times: int) -> bytes:
    """A gzip file of the stream's SCHEMA line and so many pieces: a thousandth of that in size."""
    squeeze = zlib.compressobj(9, wbits=31)
    parts = [squeeze.compress(schema_line() + b"\n")]
    parts += [squeeze.compress(piece) for _ in range(times)]
    return b"".join(parts) + squeeze.flush()


def put_bomb(root: Path, data: bytes, raw_bytes: int) -> None:
    """In place of the first file, with a name and a row that are right but for its content."""
    checksum = log.checksum(data)
    row: dict[str, Any] = {"bytes": len(data), "checksum": checksum, "raw_bytes": raw_bytes}

    def put(body: dict[str, Any]) -> None:
        old = body["files"][0]["path"]
        stem, _, _ = old.rpartition("-")
        row["path"] = f"{stem}-{key_names.digits_of(checksum)}.singer.gz"
        (root / KEYS.under(old)).unlink()
        (root / KEYS.under(row["path"])).write_bytes(data)
        for version in body["versions"].values():
            version["path"] = version["path"].replace(old, row["path"])
        body["files"][0].update(row)

    manifest(root, put)


def a_line_of_gigabytes(root: Path, megabytes: int = 2048) -> None:
    put_bomb(root, bomb(b"x" * MEGABYTE, megabytes), megabytes * MEGABYTE)


def a_string_of_gigabytes(root: Path) -> None:
    data = bomb(b'{"type":"RECORD","stream":"orders","record":{"id":"' + b"x" * MEGABYTE, 2048)
    put_bomb(root, data, 1 << 40)


def gigabytes_of_blank_lines(root: Path) -> None:
    put_bomb(root, bomb(b"\n" * MEGABYTE, 2048), 1 << 40)


def more_than_its_row_says(root: Path) -> None:
    line = b'{"type":"RECORD","stream":"orders","record":{"id":1}}\n'
    put_bomb(root, bomb(line * 20_000, 1000), 4000)


def deep_json(root: Path) -> None:
    """A hundred thousand levels, in every place that holds JSON."""
    deep = b'{"a":' * 100_000 + b"1" + b"}" * 100_000
    record = b'{"type":"RECORD","stream":"orders","record":%s}\n' % deep
    put_bomb(root, singer_file([schema_line(), record.strip()]), 1 << 40)
    for key in (key_names.LAKE_DOCUMENT, key_names.catalogue(TAP)):
        data = (root / key).read_bytes()
        (root / key).write_bytes(data.replace(b"{", b'{"x":%s,' % deep, 1))


def a_deep_schema(root: Path) -> None:
    """Deep, and yet within what Python's json reads."""
    deep: dict[str, Any] = {"type": "integer"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"a": deep}}
    message = {"type": "SCHEMA", "stream": STREAM, "schema": deep, "key_properties": []}
    data = singer_file([json.dumps(message).encode(), record_line(1)])
    put_bomb(root, data, 1 << 40)
    store = LocalStore(root)
    edit(store, key_names.catalogue(TAP), lambda body: body["streams"][0].update(schema=deep))
    edit(store, key_names.LAKE_DOCUMENT, lambda body: body["taps"][TAP].update(tags=deep))


def a_line_of_100_megabytes(root: Path) -> None:
    text = b"x" * 100_000_000
    with open_lake(root).writer(TAP) as writer:
        writer.write(schema_line())
        writer.write(record_line(5).replace(b'"id": 5', b'"id": 5, "text": "%s"' % text))


def documents_of_gigabytes(root: Path) -> None:
    """Holes: they take no room on the disk."""
    for key in (KEYS.manifest, key_names.catalogue(TAP), key_names.LAKE_DOCUMENT):
        os.truncate(root / key, HUGE)


def a_hole(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    os.truncate(path, HUGE)


def a_lock_of_gigabytes(root: Path) -> None:
    a_hole(root / lock_key())


def a_segment_of_gigabytes(root: Path) -> None:
    path = key_names.segment_path(1, 1, 1, "0badcafe")
    a_hole(root / KEYS.under(path))
    manifest(root, lambda body: body.update(segments=[segment_row(path)]))


def a_merge_document_of_gigabytes(root: Path) -> None:
    path = "_merges/000000000001-000000000002-0badcafe.json"
    a_hole(root / KEYS.under(path))
    reference = {"path": path, "checksum": log.checksum(b"")}
    manifest(root, lambda body: body["files"][-1].update(merge=reference, first_sequence=1))
