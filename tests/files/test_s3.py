"""Files on a real S3 server: large ones go in parts, and half of one is never there."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.errors import BadFile
from singerlake.files import entries, fetch, forget, put
from singerlake.lake import Lake, open_on
from singerlake.lake.blobs.staged import Staged
from singerlake.lake.purging import purge
from singerlake.store import Counting, open_store
from tests.files.putting import KEYS, STREAM, TAP, blob_key, blobs, codes, photos, written
from tests.servers import S3Server

LARGE = os.urandom(33 << 20)
"""More than goes in one request."""

NOW = timedelta(0)


@pytest.mark.slow
def test_files_on_s3(seaweedfs: S3Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"s3://{seaweedfs.new_bucket()}/lake"
    lake = open_on(open_store(url, seaweedfs.storage_options()), create=True)
    files = [written(tmp_path, "large", LARGE), written(tmp_path, "small", b"small")]
    put(lake, files, what=STREAM, where=TAP)
    counting = Counting(lake.store)
    put(Lake(counting), files, what=STREAM, where=TAP)
    assert "create_from" not in counting.counts
    first, *_ = found = entries(photos(lake))
    assert len(found) == 4
    assert fetch(photos(lake), first.path, tmp_path / "back").read_bytes() == LARGE

    changing = written(tmp_path, "changing", LARGE[::-1])
    measured = Staged.measured

    def then_changed(self: Staged) -> object:
        blob = measured(self)
        with changing.open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"?" if LARGE[:1] != b"?" else b"!")
        return blob

    monkeypatch.setattr(Staged, "measured", then_changed)
    with pytest.raises(BadFile, match="it changed meanwhile"):
        put(lake, [changing], what=STREAM, where=TAP)
    monkeypatch.undo()
    assert blobs(lake) == sorted([blob_key(LARGE), blob_key(b"small")])
    assert lake.store.sweep(NOW, "raw") == 0, "the upload in parts was given up"

    forget(lake, TAP, STREAM, [entry.id for entry in found if entry.name == "large"], apply=True)
    assert blobs(lake) == [blob_key(b"small")]
    lake.store.create(blob_key(b"orphan"), b"orphan")
    assert purge(lake.store, KEYS, NOW, abandoned=NOW) == [blob_key(b"orphan")]
    assert codes(lake, deep=True) == []
