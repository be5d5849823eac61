"""Putting files, and getting them back."""

from __future__ import annotations

import io
import json
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import BadFile, ConfigError, CorruptFile, MissingFile
from singerlake.files import entries, fetch, find, latest, put
from singerlake.files.metadata import Metadata, moment
from singerlake.lake import Lake, WriterOptions, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Counting
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

NOW = datetime(2026, 11, 16, 8, tzinfo=timezone.utc)
SOON = timedelta(0)


def test_what_is_put_is_got_back(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    made = put_bytes(
        lake,
        tmp_path,
        "door.jpg",
        b"a door",
        start="2026-11-16T08:00",
        end=1_794_820_000_000,
        work_id="shift-7",
        meta={"floor": "2"},
    )
    (found,) = entries(photos(lake))
    assert found.id == made.id
    assert found.sha256 == made.sha256
    assert found.name == "door.jpg"
    assert dict(found.record) | {"id": ""} == {
        "id": "",
        "name": "door.jpg",
        "media_type": "image/jpeg",
        "size": 6,
        "sha256": made.sha256,
        "start": "2026-11-16T08:00:00.000000Z",
        "end": "2026-11-16T09:06:40.000000Z",
        "work_id": "shift-7",
        "source": str(tmp_path / "door.jpg"),
        "meta": {"floor": "2"},
    }
    assert fetch(photos(lake), found.path, tmp_path / "out" / "x").read_bytes() == b"a door"
    assert codes(lake, deep=True) == []
    assert [run.outcome for run in lake.tap(TAP).runs()] == ["complete"]


def test_an_empty_file_is_a_file(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    entry = put_bytes(lake, tmp_path, "nothing", b"")
    assert fetch(photos(lake), entry.path, tmp_path / "x").read_bytes() == b""
    assert codes(lake, deep=True) == []


def test_the_same_bytes_are_stored_once_and_uploaded_once(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    put_bytes(lake, tmp_path, "a", b"same")
    counting = Counting(lake.store)
    put(
        Lake(counting),
        [written(tmp_path, "b", b"same"), written(tmp_path, "c", b"same")],
        what=STREAM,
        where=TAP,
    )
    assert "create_from" not in counting.counts
    assert counting.counts["size"] == 1
    assert blobs(lake) == [blob_key(b"same")]
    assert [entry.name for entry in entries(photos(lake))] == ["a", "b", "c"]


def test_the_newest_is_that_with_the_latest_start(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    put_bytes(lake, tmp_path, "noon", b"1", start="2026-11-16T12:00Z")
    put_bytes(lake, tmp_path, "morning", b"2", start="2026-11-16T08:00Z")
    newest = latest(photos(lake))
    assert newest is not None
    assert newest.name == "noon"
    assert find(photos(lake), newest.id) == newest
    with pytest.raises(ConfigError, match="no file of the id 'nobody'"):
        find(photos(lake), "nobody")
    both = [written(tmp_path, name, name.encode()) for name in ("one", "two")]
    put(lake, both, what=STREAM, where=TAP, start="2026-11-16T14:00Z")
    last = latest(photos(lake))
    assert last is not None
    assert last.name == "two"


@pytest.mark.parametrize("second", [b"other bytes", b"shorter", b"the same beginning, longer"])
def test_a_file_that_changes_meanwhile_is_an_error_and_not_visible(
    tmp_path: Path, second: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = lake_at(tmp_path)
    put_bytes(lake, tmp_path, "before", b"before")
    path = written(tmp_path, "changing", b"first bytes")
    opened = Path.open
    times = 0

    def open_and_change(self: Path, *args: Any, **options: Any) -> Any:
        nonlocal times
        if self == path and args == ("rb",):
            times += 1
            if times == 2:
                path.write_bytes(second)
        return opened(self, *args, **options)

    monkeypatch.setattr(Path, "open", open_and_change)
    with pytest.raises(BadFile, match="it changed meanwhile"):
        put(lake, [path], what=STREAM, where=TAP)
    monkeypatch.undo()
    assert [entry.name for entry in entries(photos(lake))] == ["before"]
    assert blobs(lake) == [blob_key(b"before")]
    assert codes(lake, deep=True) == []
    assert [run.outcome for run in lake.tap(TAP).runs()] == ["complete", "failed"]


def test_what_is_not_there_is_a_clear_error(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    for wrong in (tmp_path / "missing", tmp_path):
        with pytest.raises(BadFile, match="expected a file"):
            put(lake, [written(tmp_path, "good", b"good"), wrong], what=STREAM, where=TAP)
    assert lake.stream(TAP, STREAM).snapshot().last_sequence == 0
    assert set(codes(lake)) <= {"orphan-blob"}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"what": "Photos"}, "what is 'Photos'"),
        ({"where": "../etc"}, "where is '../etc'"),
        ({"work_id": "null"}, "work_id 'null' is reserved"),
        ({"work_id": "A B"}, "work_id is 'A B'"),
        ({"start": "yesterday"}, "'yesterday' is no time"),
        ({"start": "2026-11-16", "end": "2026-11-15"}, "is before the start"),
    ],
)
def test_metadata_that_an_index_could_not_take(
    tmp_path: Path, options: dict[str, str], said: str
) -> None:
    given = {"what": STREAM, "where": TAP, **options}
    with pytest.raises(ConfigError, match=said):
        put(lake_at(tmp_path), [written(tmp_path, "a", b"a")], **given)  # type: ignore[arg-type]


@given(st.datetimes(datetime(1990, 1, 1), datetime(2200, 1, 1), timezones=st.just(timezone.utc)))
def test_a_time_is_the_same_in_each_form(at: datetime) -> None:
    at = at.replace(microsecond=at.microsecond // 1000 * 1000)
    assert moment(at.isoformat(), NOW) == at
    assert moment(at.replace(tzinfo=None).isoformat(), NOW) == at
    milliseconds = (at - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1)
    if milliseconds > 1e11:
        assert moment(str(milliseconds), NOW) == at
    assert moment("now", NOW) == NOW


def test_an_end_may_be_the_start() -> None:
    assert Metadata(NOW, NOW).end == NOW


def test_stdin_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lake = lake_at(tmp_path)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"from a pipe")))
    (entry,) = put(lake, ["-"], what=STREAM, where=TAP, name="dump.sql")
    assert entry.name == "dump.sql"
    assert lake.store.read(KEYS.under(entry.path)).data == b"from a pipe"


def test_references_outlive_vacuum_purge_and_rebuild(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    for number in range(6):
        put_bytes(lake, tmp_path, f"{number}", b"content %d" % (number % 4))
    before = [(entry.id, entry.path, entry.sequence) for entry in entries(photos(lake))]
    assert vacuum(lake.store, KEYS, VacuumOptions()).merged_files == 6
    assert [(entry.id, entry.path, entry.sequence) for entry in entries(photos(lake))] == before
    purge(lake.store, KEYS, SOON, abandoned=SOON)
    assert [(entry.id, entry.path, entry.sequence) for entry in entries(photos(lake))] == before
    lake.store.delete(KEYS.manifest)
    rebuild(lake.store)
    assert [(entry.id, entry.path) for entry in entries(photos(lake))] == [
        row[:2] for row in before
    ]
    assert len(blobs(lake)) == 4
    assert codes(lake, deep=True) == []


def test_damage_is_found_and_never_handed_out_whole(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    flipped = put_bytes(lake, tmp_path, "flipped", b"some bytes")
    lost = put_bytes(lake, tmp_path, "lost", b"lost bytes")
    path = tmp_path / "lake" / KEYS.under(flipped.path)
    path.write_bytes(b"some bytez")
    lake.store.delete(KEYS.under(lost.path))
    assert codes(lake) == ["blob-missing"]
    assert codes(lake, deep=True) == ["blob-checksum", "blob-missing"]
    target = tmp_path / "out"
    with pytest.raises(CorruptFile, match="they are damaged"):
        fetch(photos(lake), flipped.path, target)
    with pytest.raises(MissingFile, match="they are not there"):
        fetch(photos(lake), lost.path, target)
    assert not target.exists()
    assert [each for each in tmp_path.iterdir() if each.name.startswith(".")] == []


def test_many_small_files_go_into_few_commits(tmp_path: Path) -> None:
    lake = lake_at(tmp_path)
    files = [written(tmp_path, f"{number}", b"%d" % number) for number in range(60)]
    put(lake, files, what=STREAM, where=TAP, options=WriterOptions(max_file_records=25))
    assert lake.stream(TAP, STREAM).snapshot().last_sequence == 3
    assert len(blobs(lake)) == 60
    assert codes(lake, deep=True) == []


def test_names_that_are_no_text_are_kept(tmp_path: Path) -> None:
    """A file's name on Linux is bytes: what is not UTF-8 stays an escape in the record."""
    name = b"r\xe9sum\xe9".decode("utf-8", "surrogateescape")
    lake = lake_at(tmp_path)
    put_bytes(lake, tmp_path, name, b"cv")
    (entry,) = entries(photos(lake))
    assert entry.name == name
    assert json.loads(json.dumps(entry.record["source"])).endswith(name)
