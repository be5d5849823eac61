"""Files of any kind, put and landed, as entries of an index."""

from __future__ import annotations

import logging
from datetime import timedelta
from pathlib import Path

import pytest

from singerlake.files import put
from singerlake.format.keys import StreamKeys
from singerlake.index.check import check_index
from singerlake.index.entry import Entry, moment
from singerlake.index.export import export_lines
from singerlake.index.ingester import Ingester, follow
from singerlake.index.open import open_index
from singerlake.index.query import Query, answer
from singerlake.index.rebuild import rebuild_index
from singerlake.index.scan import scan_lake
from singerlake.index.storage.base import Storage
from singerlake.lake import Lake, open_lake
from singerlake.lake.vacuum import VacuumOptions, purge, vacuum

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
