"""A small lake of photos: shared by the tests of files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from singerlake.files import Entry, put
from singerlake.format.blob_keys import path_of
from singerlake.format.keys import StreamKeys
from singerlake.lake import Lake, Stream, check, open_lake

TAP, STREAM = "camera-1", "photos"
KEYS = StreamKeys(TAP, STREAM)


def lake_at(folder: Path) -> Lake:
    return open_lake(folder / "lake", create=True)


def photos(lake: Lake) -> Stream:
    return lake.stream(TAP, STREAM)


def written(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def put_bytes(lake: Lake, folder: Path, name: str, content: bytes, **more: Any) -> Entry:
    (entry,) = put(lake, [written(folder, name, content)], what=STREAM, where=TAP, **more)
    return entry


def blob_key(content: bytes) -> str:
    return KEYS.under(path_of(hashlib.sha256(content).hexdigest()))


def blobs(lake: Lake) -> list[str]:
    return [row.key for row in lake.store.list(KEYS.under("_files"))]


def codes(lake: Lake, **options: Any) -> list[str]:
    return sorted(finding.code for finding in check(lake.store, **options).findings)
