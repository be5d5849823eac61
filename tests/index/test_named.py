"""Files of any kind, put and landed, as entries of an index."""

from __future__ import annotations

import gzip
import hashlib
import json
import logging
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import Any, BinaryIO

import httpx
import pytest

from singerlake.files import entries, forget, put
from singerlake.format.blob import with_files
from singerlake.format.blob_keys import path_of
from singerlake.format.keys import StreamKeys
from singerlake.http.server import serving
from singerlake.http.service import Service
from singerlake.http.settings import Listen
from singerlake.index import named as named_files
from singerlake.index.api.app import index_app
from singerlake.index.api.archive import Archive
from singerlake.index.check import check_index
from singerlake.index.entry import Entry, moment
from singerlake.index.export import export_lines
from singerlake.index.ingester import Ingester, follow
from singerlake.index.open import open_index
from singerlake.index.query import Query, answer
from singerlake.index.rebuild import rebuild_index
from singerlake.index.scan import scan_lake
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake, open_lake, open_on, rebuild
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.metrics import Metrics
from singerlake.store import Counting, Store
from tests.target.driving import TAP_ID, land, record, schema

KEYS = StreamKeys("camera-1", "photos")


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return open_lake(tmp_path / "lake", create=True)


@pytest.fixture
def index(tmp_path: Path) -> Storage:
    return open_index(f"sqlite:///{tmp_path}/index.db")


def put_each(lake: Lake, folder: Path, texts: list[str], work_id: str | None) -> None:
    folder.mkdir(exist_ok=True)
    for number, text in enumerate(texts):
        path = folder / f"{text}.txt"
        path.write_text(text)
        day = f"2026-03-{number + 1:02}"
        put(
            lake,
            [path],
            what=KEYS.stream,
            where=KEYS.tap_id,
            start=f"{day}T00:00:00Z",
            end=f"{day}T12:00:00Z",
            work_id=work_id,
        )


def named(entries: list[Entry]) -> list[Entry]:
    return [entry for entry in entries if entry.ordinal]


def test_what_was_put_is_found_by_its_own_times_and_work(
    lake: Lake, index: Storage, tmp_path: Path
) -> None:
    put_each(lake, tmp_path / "files", ["one", "two", "three"], "job-7")
    assert follow(index, lake).entries == 6
    found = named(index.page(Query(run_id="job-7")))
    assert [one.size for one in found] == [3, 3, 5]
    assert [moment(one.start).day for one in found] == [1, 2, 3]
    assert all(moment(one.end) - moment(one.start) == timedelta(hours=12) for one in found)
    assert [lake.store.read(one.key).data for one in found] == [b"one", b"two", b"three"]
    ids = [one.id for one in found]
    vacuum(lake.store, KEYS, VacuumOptions(target_bytes=1_000_000))
    purge(lake.store, KEYS, timedelta(0), abandoned=timedelta(0))
    follow(index, lake)
    assert [one.id for one in named(index.page(Query(run_id="job-7")))] == ids
    assert list(check_index(index, lake)) == []
    fresh = open_index(f"sqlite:///{tmp_path}/fresh.db")
    rebuild_index(fresh, lake, pytest.fail)
    assert list(export_lines(fresh)) == list(export_lines(index))
    assert index.page(Query()) == answer(Query(), scan_lake(lake, Query()))


def test_a_damaged_singer_file_hides_no_other(
    lake: Lake, index: Storage, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    put_each(lake, tmp_path / "files", ["one", "two", "three"], None)
    files = list(lake.stream(KEYS.tap_id, KEYS.stream).snapshot().files())
    (tmp_path / "lake" / KEYS.under(files[1].path)).write_bytes(b"damage")
    with caplog.at_level(logging.WARNING):
        assert follow(index, lake).entries == 5
    assert "the files that it names are not indexed" in caplog.text
    assert [one.sequence for one in named(index.page(Query()))] == [1, 3]


def test_streams_without_a_mark_are_never_read(lake: Lake, index: Storage) -> None:
    from tests.lake.landing import TAP
    from tests.lake.running import Running

    for number in range(3):
        Running(lake.store, f"r-{number}", "orders", tap=TAP).commit([number])
    for file in lake.stream(TAP, "orders").snapshot().files():
        lake.store.delete(StreamKeys(TAP, "orders").under(file.path))
    assert Ingester(index, lake).poll().entries == 3


class Slow(Counting):
    """Each reading waits for others, as long as they may come: so one after another is seen."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.together, self._under_way, self._lock = 0, 0, threading.Lock()

    def open(self, key: str, size: int) -> BinaryIO:
        with self._lock:
            self._under_way += 1
            self.together = max(self.together, self._under_way)
        time.sleep(0.02)
        with self._lock:
            self._under_way -= 1
        return super().open(key, size)


@pytest.mark.parametrize("merged", [False, True])
def test_small_singer_files_are_read_side_by_side_and_once(
    lake: Lake, index: Storage, tmp_path: Path, merged: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Thousands of small puts on S3 are thousands of requests, one after another, within the
    index's transaction otherwise. What is in memory is bounded."""
    monkeypatch.setattr(named_files, "MOST_FILES", 5)
    put_each(lake, tmp_path / "files", [f"file {number}" for number in range(12)], "job-7")
    if merged:
        vacuum(lake.store, KEYS, VacuumOptions(target_bytes=1_000_000))
        put_each(lake, tmp_path / "files", ["one", "two"], "job-8")
    slow = Slow(lake.store)
    found = list(scan_lake(open_on(slow), Query()))
    assert [one.sequence for one in named(found)] == list(range(1, 15 if merged else 13))
    assert slow.counts["open"] == (3 if merged else 12)
    assert slow.together == (3 if merged else 5)
    follow(index, lake)
    assert index.page(Query()) == answer(Query(), found)


def require_equal(lake: Lake, index: Storage, tmp_path: Path) -> None:
    """Followed, rebuilt and without an index: the same."""
    follow(index, lake)
    fresh = open_index(f"sqlite:///{tmp_path}/fresh.db")
    rebuild_index(fresh, lake, pytest.fail)
    assert list(export_lines(index)) == list(export_lines(fresh))
    assert list(check_index(index, lake)) == []
    assert index.page(Query(), limit=1000) == answer(Query(), scan_lake(lake, Query()))


def land_photos(lake: Lake, folder: Path, number: int) -> None:
    """Two records of a tap that name three files."""
    folder.mkdir(exist_ok=True)
    paths = []
    for name in "abc":
        path = folder / f"{number}-{name}"
        path.write_text(f"{name} of {number}")
        paths.append(str(path))
    mark = {"type": ["null", "string"], "x-singerlake-file": True}
    lines = [
        schema("s", front=mark, back=mark, size={"type": "integer"}),
        record("s", 2 * number, back=paths[1], front=paths[0], size=42),
        record("s", 2 * number + 1, front=paths[2]),
    ]
    land(lines, Path(lake.store.url.removeprefix("file://")), staged_files=str(folder))


@pytest.mark.slow
def test_followed_rebuilt_and_read_from_the_lake_are_equal_whatever_happens(
    lake: Lake, storage: Storage, tmp_path: Path
) -> None:
    put_each(lake, tmp_path / "files", ["one", "two", "three"], "job-7")
    for number in range(2):
        land_photos(lake, tmp_path / "staged", number)
    require_equal(lake, storage, tmp_path)
    staged = named(storage.page(Query(tap=TAP_ID)))
    assert [lake.store.read(one.key).data.decode() for one in staged] == [
        f"{name} of {number}" for number in range(2) for name in "abc"
    ]
    assert {one.size for one in staged} == {0}  # no record says it: `size` is the tap's own
    ids = [one.id for one in storage.page(Query())]
    for keys in (KEYS, StreamKeys(TAP_ID, "s")):
        vacuum(lake.store, keys, VacuumOptions(target_bytes=1_000_000))
        require_equal(lake, storage, tmp_path)
        purge(lake.store, keys, timedelta(0), abandoned=timedelta(0))
        require_equal(lake, storage, tmp_path)
    assert [one.id for one in storage.page(Query())] == ids
    (photo, *_) = entries(lake.stream(KEYS.tap_id, KEYS.stream))
    forget(lake, KEYS.tap_id, KEYS.stream, [photo.id], apply=True)
    forget(lake, TAP_ID, "s", ["0"], apply=True)
    require_equal(lake, storage, tmp_path)
    lake.store.delete(KEYS.manifest)
    rebuild(lake.store, KEYS.tap_id, KEYS.stream)
    require_equal(lake, storage, tmp_path)


def test_the_api_sends_the_bytes_of_a_file(lake: Lake, index: Storage, tmp_path: Path) -> None:
    put_each(lake, tmp_path / "files", ["one"], "job-7")
    land_photos(lake, tmp_path / "staged", 0)
    follow(index, lake)
    service = Service(index_app(Archive(index, lake)), metrics=Metrics.create(process=False))

    def sent(url: str) -> list[tuple[int, str]]:
        found = httpx.get(url, timeout=60).json()["records"]
        answers = [httpx.get(one["url"], timeout=60) for one in found if one["lake"]["ordinal"]]
        return [(one.status_code, one.text) for one in answers]

    with serving(service, Listen()) as url:
        files = f"{url}/v0/archive/files/?what="
        assert sent(f"{files}photos&work_id=job-7") == [(200, "one")]
        assert sent(f"{files}s&where={TAP_ID}&work_id={index.page(Query(stream='s'))[0].run_id}")
        landed = [(200, "a of 0"), (200, "b of 0"), (200, "c of 0")]
        assert sent(f"{files}s&start=0&end=now") == landed
        forget(lake, TAP_ID, "s", ["1"], apply=True)
        gone = [status for status, _ in sent(f"{files}s&start=0&end=now")]
        assert gone == [200, 200, 404]


def test_a_file_that_is_gzip_comes_as_it_is(lake: Lake, index: Storage, tmp_path: Path) -> None:
    """Clients of HTTP unpack what is said to be encoded, many of them only its first member."""
    packed = gzip.compress(b"one") + gzip.compress(b"two")
    path = tmp_path / "dump.gz"
    path.write_bytes(packed)
    put(lake, [path], what=KEYS.stream, where=KEYS.tap_id)
    follow(index, lake)
    service = Service(index_app(Archive(index, lake)), metrics=Metrics.create(process=False))
    (found,) = named(index.page(Query()))
    with serving(service, Listen()) as url:
        answer = httpx.get(f"{url}/v0/archive/files/{found.id}/data", timeout=60)
    assert answer.content == packed


def test_a_merged_file_is_read_once_for_all_its_commits(
    lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_each(lake, tmp_path / "files", [f"file {number}" for number in range(20)], None)
    vacuum(lake.store, KEYS, VacuumOptions(target_bytes=1_000_000))
    opened: list[str] = []
    store_type = type(lake.store)
    whole = store_type.open

    def counted(self: Any, key: str, *more: Any) -> Any:
        opened.append(key)
        return whole(self, key, *more)

    monkeypatch.setattr(store_type, "open", counted)
    assert len(named(list(scan_lake(lake, Query())))) == 20
    assert len([key for key in opened if ".singer" in key]) == 1


@pytest.mark.parametrize(
    "said",
    [
        {"size": 10**30, "start": "0001-01-01T00:00:00+14:00", "work_id": "w" * 5000},
        {"size": -1, "end": "2026-03-01T00:00:00Z", "work_id": ""},
        {"size": True, "start": "2026-03-02", "end": "2026-03-01", "work_id": "a\0b\ud800"},
        {"size": "3", "start": 5, "end": {}, "work_id": ["x"]},
    ],
)
def test_absurd_records_are_indexed_with_what_can_be_used(
    lake: Lake, storage: Storage, tmp_path: Path, said: dict[str, Any]
) -> None:
    sha256 = hashlib.sha256(b"bytes").hexdigest()
    mark = {"type": "string", "x-singerlake-file": True}
    line = {"type": "RECORD", "stream": "odd", "record": {"id": 1, "sha256": sha256, **said}}
    line["time_extracted"] = "2026-03-05T00:00:00Z"
    lake.store.create(StreamKeys("t", "odd").under(path_of(sha256)), b"bytes")
    with lake.writer("t") as writer:
        writer.schema("odd", schema("odd", photo=mark).encode())
        whole = with_files(json.dumps(line).encode(), {"photo": path_of(sha256)})
        writer.write(whole, as_it_is=True)
    require_equal(lake, storage, tmp_path)
    (found,) = named(storage.page(Query()))
    assert (found.size, found.hash) == (0, f"sha256:{sha256}")
    assert found.start <= found.end
