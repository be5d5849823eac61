"""Forgetting files: a tombstone, then the bytes, unless another record or a pin needs them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from singerlake.errors import ConfigError, CorruptDocument, Pinned
from singerlake.files import entries, forget, forgetting
from singerlake.format.keys import StreamKeys
from singerlake.format.keys import pin as pin_key
from singerlake.lake import rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from tests.files.putting import (
    KEYS,
    STREAM,
    TAP,
    blob_key,
    blobs,
    codes,
    lake_at,
    photos,
    put_bytes,
    written,
)
from tests.target.driving import TAP_ID, land, schema, timed

NOW = timedelta(0)


def test_nothing_happens_until_it_is_applied(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    entry = put_bytes(lake, tmp_path, "a", b"a")
    (told,) = forget(lake, TAP, STREAM, [entry.id])
    assert (told.entry.id, told.shared) == (entry.id, False)
    assert [each.id for each in entries(photos(lake))] == [entry.id]
    assert photos(lake).snapshot().last_sequence == 1


def test_the_bytes_go_and_a_tombstone_stays(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    kept, gone = put_bytes(lake, tmp_path, "a", b"a"), put_bytes(lake, tmp_path, "b", b"b")
    forget(lake, TAP, STREAM, [gone.id], apply=True)
    assert blobs(lake) == [blob_key(b"a")]
    assert [each.id for each in entries(photos(lake))] == [kept.id]
    records = list(photos(lake).snapshot().records())
    assert [record["id"] for record in records] == [kept.id, gone.id, gone.id]
    assert records[-1].keys() == {"id", "_sdc_deleted_at"}
    assert codes(lake, deep=True) == []
    with pytest.raises(ConfigError, match="no file of the id"):
        forget(lake, TAP, STREAM, [gone.id], apply=True)


def test_bytes_that_another_record_names_stay(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    first, second = (put_bytes(lake, tmp_path, name, b"same") for name in "ab")
    (told,) = forget(lake, TAP, STREAM, [first.id], apply=True)
    assert told.shared
    assert blobs(lake) == [blob_key(b"same")]
    forget(lake, TAP, STREAM, [second.id], apply=True)
    assert blobs(lake) == []
    assert codes(lake, deep=True) == []


def test_both_at_once_share_with_nobody(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    ids = [put_bytes(lake, tmp_path, name, b"same").id for name in "ab"]
    told = forget(lake, TAP, STREAM, ids, apply=True)
    assert [one.shared for one in told] == [False, False]
    assert blobs(lake) == []


def test_what_is_put_again_is_there_again(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    forget(lake, TAP, STREAM, [put_bytes(lake, tmp_path, "a", b"a").id], apply=True)
    again = put_bytes(lake, tmp_path, "a", b"a")
    vacuum(lake.store, KEYS, VacuumOptions())
    purge(lake.store, KEYS, NOW, abandoned=NOW)
    assert [each.id for each in entries(photos(lake))] == [again.id]
    assert blobs(lake) == [blob_key(b"a")]
    assert codes(lake, deep=True) == []


def test_what_a_pin_reads_is_refused(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    old = put_bytes(lake, tmp_path, "old", b"old")
    lake.pin("audit")
    new = put_bytes(lake, tmp_path, "new", b"new")
    with pytest.raises(Pinned, match="the pin 'audit' reads"):
        forget(lake, TAP, STREAM, [new.id, old.id], apply=True)
    assert len(entries(photos(lake))) == 2
    forget(lake, TAP, STREAM, [new.id], apply=True)
    assert blobs(lake) == [blob_key(b"old")]
    lake.unpin("audit")
    forget(lake, TAP, STREAM, [old.id], apply=True)
    assert blobs(lake) == []


def test_a_purge_keeps_what_a_pin_reads_and_everything_beside_a_damaged_pin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A pin that is made while a file is being forgotten: the tombstone is there, the bytes too."""
    lake = lake_at(tmp_path)
    entry = put_bytes(lake, tmp_path, "a", b"a")
    lake.pin("meanwhile")
    monkeypatch.setattr("singerlake.files.forgetting.pins.require_unpinned", lambda *_: None)
    forget(lake, TAP, STREAM, [entry.id], apply=True)
    assert blobs(lake) == [blob_key(b"a")]
    purge(lake.store, KEYS, NOW, abandoned=NOW)
    assert blobs(lake) == [blob_key(b"a")]
    key = pin_key("meanwhile")
    lake.store.replace(key, b"{", lake.store.version(key))
    with pytest.raises(CorruptDocument):
        purge(lake.store, KEYS, NOW, abandoned=NOW)
    assert blobs(lake) == [blob_key(b"a")]
    lake.unpin("meanwhile")
    purge(lake.store, KEYS, NOW, abandoned=NOW)
    assert blobs(lake) == []
    assert codes(lake) == []


def test_what_a_tap_lands_again_outlives_a_lost_manifest(tmp_path: Path) -> None:
    """A rebuild orders by the times of records, and this one's is older than the tombstone's."""
    photo = written(tmp_path, "photo", b"a photo")
    mark = {"type": ["null", "string"], "x-singerlake-file": True}
    lines = [schema("s", photo=mark), timed("s", 1, photo=str(photo))]
    lake, keys = lake_at(tmp_path), StreamKeys(TAP_ID, "s")
    land(lines, tmp_path / "lake", staged_files=str(tmp_path))
    forget(lake, TAP_ID, "s", ["1"], apply=True)
    land(lines, tmp_path / "lake", staged_files=str(tmp_path))
    lake.store.delete(keys.manifest)
    rebuild(lake.store)
    purge(lake.store, keys, timedelta(0), abandoned=timedelta(0))
    (entry,) = entries(lake.stream(TAP_ID, "s"))
    assert lake.store.read(keys.under(entry.path)).data == b"a photo"


def test_what_is_landed_while_it_is_forgotten_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photo = written(tmp_path, "photo", b"a photo")
    mark = {"type": ["null", "string"], "x-singerlake-file": True}
    lines = [schema("s", photo=mark), timed("s", 1, photo=str(photo))]
    lake = lake_at(tmp_path)
    land(lines, tmp_path / "lake", staged_files=str(tmp_path))
    write = forgetting._write

    def later(*given: Any) -> None:
        land(lines, tmp_path / "lake", staged_files=str(tmp_path))
        write(*given)

    monkeypatch.setattr(forgetting, "_write", later)
    forget(lake, TAP_ID, "s", ["1"], apply=True)
    (entry,) = entries(lake.stream(TAP_ID, "s"))
    assert lake.store.read(StreamKeys(TAP_ID, "s").under(entry.path)).data == b"a photo"
