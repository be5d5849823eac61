"""Every promise that check looks at can be broken, and is then named; what can be is mended."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from singerlake.errors import CorruptDocument
from singerlake.format import lock_record
from singerlake.format.lock_record import LockRecord
from singerlake.lake import Lake, Level, check, clock, commit, open_on, rebuild
from singerlake.store import Store
from tests.lake.broken_promises import (
    CATALOGUE,
    LAKE,
    PROMISES,
    Broken,
    corrupt_manifest,
    healthy,
    missing_manifest,
    named,
)
from tests.lake.faulty_store import At, Hooked, Recording, in_thread
from tests.lake.landing import (
    EPOCH,
    KEYS,
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    assert_once_each,
    codes,
    edit,
    files_in,
    land,
    lock_key,
    new_store,
    numbers_in,
    objects_in,
    overwrite,
    paths_in,
    put_file,
    record_line,
    schema_hash,
    schema_line,
    singer_file,
    time_of,
)

pytestmark = pytest.mark.usefixtures("small_segments")


def test_a_healthy_lake_has_no_finding() -> None:
    report = check(healthy(), times=QUICK)
    assert report.findings == []
    assert report.fixed == []
    assert report.clean
    assert (report.streams, report.files, report.records) == (1, 7, 7)
    assert report.bytes > 0


@pytest.mark.parametrize("broken", PROMISES, ids=named)
def test_a_broken_promise_is_named(broken: Broken) -> None:
    store = healthy()
    broken.by(store)
    before = {key: store.read(key).data for key in objects_in(store)}
    report = check(store, times=QUICK)
    assert tuple(codes(report)) == tuple(sorted(broken.codes))
    assert not report.clean
    assert all(finding.fixable == (broken.mended_by == "fix") for finding in report.findings)
    assert all(finding.key in finding_places(store, report) for finding in report.findings)
    after = {key: store.read(key).data for key in objects_in(store)}
    assert after == before  # a check alone changes nothing


def finding_places(store: Store, report: Any) -> set[str]:
    """Where a finding may point: to what is there, or to what should be."""
    return {*objects_in(store), KEYS.manifest, CATALOGUE, LAKE} | {
        finding.key for finding in report.findings if finding.code == "file-missing"
    }


@pytest.mark.parametrize(
    "broken", [broken for broken in PROMISES if broken.mended_by == "fix"], ids=named
)
def test_what_is_fixable_is_fixed(broken: Broken) -> None:
    store = healthy()
    broken.by(store)
    report = check(store, fix=True, times=QUICK)
    assert report.fixed
    assert_clean(store)
    assert sorted(set(numbers_in(store)) - {50}) == list(range(7))
    land(store, [7])
    assert_clean(store)


@pytest.mark.parametrize(
    "broken", [broken for broken in PROMISES if broken.mended_by != "fix"], ids=named
)
def test_fix_touches_no_file_that_it_cannot_mend(broken: Broken) -> None:
    store = healthy()
    broken.by(store)
    before = {key: store.read(key).data for key in objects_in(store, ".singer.gz")}
    report = check(store, fix=True, times=QUICK)
    assert report.fixed == []
    assert {key: store.read(key).data for key in objects_in(store, ".singer.gz")} == before


def test_an_orphan_that_cannot_be_read_is_reported_and_never_deleted() -> None:
    store = healthy()
    key = KEYS.under(f"{schema_hash()}/{STREAM}-20260101T000050.000000Z-20260101T000050.000000Z")
    store.create(key + ".singer.gz", gzip.compress(record_line(50)))
    report = check(store, fix=True, times=QUICK)
    assert codes(report) == ["orphan-corrupt"]
    assert codes(check(store, times=QUICK)) == ["orphan-corrupt"]
    done = rebuild(store)
    assert len(done.skipped) == 1
    assert key in done.skipped[0]
    assert store.read(key + ".singer.gz")
    assert_once_each(store, 7)


@pytest.mark.parametrize("break_log", [missing_manifest, corrupt_manifest])
def test_without_a_log_a_file_that_cannot_be_read_is_named_and_stays_an_error(
    break_log: Callable[[Store], None],
) -> None:
    store = healthy()
    [first, *_] = objects_in(store, ".singer.gz")
    overwrite(store, first, store.read(first).data[:-9])
    break_log(store)
    [code] = {"manifest-missing", "manifest-corrupt"} & set(codes(check(store, times=QUICK)))
    assert codes(check(store, times=QUICK)) == ["file-corrupt", code]
    report = check(store, fix=True, times=QUICK)
    assert {one.code: one.fixable for one in report.findings} == {"file-corrupt": False, code: True}
    assert any(line.startswith("left out ") and first in line for line in report.fixed)
    assert codes(check(store, times=QUICK)) == ["orphan-corrupt"]


def test_what_no_readable_file_can_mend_is_not_called_mended() -> None:
    store = new_store()
    land(store, [0])
    [only] = objects_in(store, ".singer.gz")
    overwrite(store, only, b"no gzip")
    store.delete(KEYS.manifest)
    edit(store, CATALOGUE, lambda body: body["streams"].clear())
    report = check(store, fix=True, times=QUICK)
    assert codes(report) == ["catalogue-stream", "file-corrupt", "manifest-missing"]
    assert not any(finding.fixable for finding in report.findings)
    assert not any(line.startswith("rebuilt") for line in report.fixed)


def test_the_entry_of_a_stream_without_files_is_mended_from_itself() -> None:
    store = new_store()
    land(store, [])
    edit(store, CATALOGUE, lambda body: body["streams"][0]["schema"].update(title="edited"))
    assert codes(check(store, fix=True, times=QUICK)) == ["catalogue-hash"]
    assert_clean(store)


def test_a_lock_that_is_refreshed_is_in_use_and_one_that_is_not_is_stale() -> None:
    store = healthy()
    dead, alive = lock_key(version=1), lock_key(version=2)
    for key in (dead, alive):
        moment = clock.now()
        store.create(key, lock_record.encode(LockRecord("someone-1", moment, moment)))
    stop = threading.Event()

    def refresh() -> None:
        while not stop.wait(0.005):
            record = LockRecord("someone-1", EPOCH, clock.now())
            store.replace(alive, lock_record.encode(record), store.read(alive).version)

    refreshing = in_thread(refresh)
    report = check(store, fix=True, times=replace(QUICK, stale_after=1.0))
    stop.set()
    refreshing.result()
    assert codes(report) == ["stale-lock"]
    assert codes(report, Level.NOTE) == ["lock"]
    assert {finding.code: finding.key for finding in report.findings} == {
        "stale-lock": dead,
        "lock": alive,
    }
    assert all("someone-1" in finding.message for finding in report.findings)
    assert objects_in(store, "singerlake.lock") == [alive]


def test_a_stale_lock_that_comes_to_life_before_it_is_removed_stays() -> None:
    store = healthy()
    store.create(lock_key(), b"{}")
    reads = Recording(store)

    class Waking(Hooked):
        def delete_if(self, key: str, version: str) -> None:
            store.replace(key, b"alive", version)
            super().delete_if(key, version)

    report = check(Waking(reads, At("none"), lambda: None), fix=True, times=QUICK)
    assert report.fixed == [f"left {lock_key()}: it is in use again"]
    assert store.read(lock_key()).data == b"alive"


def test_what_is_not_ours_is_noted_and_left_alone() -> None:
    store = healthy()
    foreign = ["raw/readme.txt", f"raw/{TAP}/notes.md", KEYS.under("x/y.txt"), "raw/a/b/c/d/e"]
    for key in foreign:
        store.create(key, b"")
    report = check(store, fix=True, times=QUICK)
    assert report.clean
    assert codes(report, Level.NOTE) == ["foreign-object"] * 4
    assert sorted(finding.key for finding in report.findings) == sorted(foreign)
    rebuild(store)
    assert set(foreign) <= set(objects_in(store))
    assert_once_each(store, 7)


def test_a_folder_of_something_else_beside_the_streams_does_not_hinder_check_or_rebuild() -> None:
    store = healthy()
    store.create(f"raw/{TAP}/notes/readme.txt", b"")
    store.create(f"raw/{TAP}/gone/{schema_hash()}/singerlake.lock", b"{}")
    store.delete(CATALOGUE)
    assert [stream.name for stream in Lake(store).tap(TAP).streams()] == [STREAM]
    assert codes(check(store, fix=True, times=QUICK)) == ["catalogue-missing", "stale-lock"]
    assert_clean(store)
    store.delete(CATALOGUE)
    rebuild(store)
    assert_clean(store)


def test_a_catalogue_is_made_again_though_the_newest_file_is_gone() -> None:
    store = healthy()
    store.delete(KEYS.under(paths_in(store)[-1]))
    store.delete(CATALOGUE)
    assert codes(check(store, fix=True, times=QUICK)) == ["catalogue-missing", "file-missing"]
    assert codes(check(store, times=QUICK)) == ["file-missing"]


def test_an_empty_stream_and_an_empty_lake_are_healthy() -> None:
    store = new_store()
    open_on(store, create=True)
    assert_clean(store)
    commit.open_log(store, KEYS, "test")
    open_on(store, create=True)
    lake = check(store, fix=True, times=QUICK)
    assert codes(lake) == ["lake-document-tap"]
    assert_clean(store)


def test_older_names_with_whole_seconds_are_right_and_wrong_ones_are_not() -> None:
    store = healthy()
    folder = KEYS.under(schema_hash())
    line = record_line(50).replace(b"50.000000Z", b"50.750000Z")
    data = singer_file([schema_line(), line])
    store.create(f"{folder}/{STREAM}-20260101T000050Z-20260101T000050Z.singer.gz", data)
    assert codes(check(store, fix=True, times=QUICK)) == ["orphan-file"]
    assert_clean(store)
    store.create(f"{folder}/{STREAM}-20260101T000051Z-20260101T000051Z.singer.gz", data)
    check(store, fix=True, times=QUICK)
    assert set(codes(check(store, times=QUICK))) == {"name-wrong"}


def test_a_name_with_six_digits_is_exact_though_they_are_zero() -> None:
    store = healthy()
    line = record_line(50).replace(b"50.000000Z", b"50.750000Z")
    put_file(store, [schema_line(), line], [50])
    check(store, fix=True, times=QUICK)
    assert codes(check(store, times=QUICK)) == ["name-wrong", "name-wrong"]


def test_an_adopted_file_tells_who_wrote_it() -> None:
    store = healthy()
    files = files_in(store)
    missing_manifest(store)
    check(store, fix=True, times=QUICK)
    assert [file.writer_id for file in files_in(store)] == [file.writer_id for file in files]
    assert files_in(store)[0].first == time_of(0)


def test_reading_a_lake_with_a_corrupt_manifest_is_refused_with_advice() -> None:
    store = healthy()
    corrupt_manifest(store)
    with pytest.raises(CorruptDocument, match="singerlake rebuild"):
        numbers_in(store)
    with pytest.raises(CorruptDocument, match="singerlake rebuild"):
        land(store, [7])
