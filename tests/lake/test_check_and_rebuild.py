"""Every promise that check looks at can be broken, and is then named; rebuild starts anew."""

from __future__ import annotations

import contextlib
import gzip
import json
import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pytest

from singerlake.errors import CommitConflict, CorruptDocument, SchemaCollision, SingerlakeError
from singerlake.format import keys as key_names
from singerlake.format import lock_record
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.lock_record import LockRecord
from singerlake.format.message import decode_schema
from singerlake.format.schema import Schema
from singerlake.lake import Lake, Level, check, clock, commit, open_on, rebuild
from singerlake.store import Store
from tests.lake.faulty_store import (
    MANIFEST_CREATE,
    MANIFEST_REPLACE,
    At,
    Gate,
    Hooked,
    Pausing,
    Recording,
    in_thread,
)
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
    land_each,
    lock_key,
    new_store,
    numbers_in,
    objects_in,
    options,
    overwrite,
    paths_in,
    put_file,
    put_orphan,
    record_line,
    schema_hash,
    schema_line,
    singer_file,
    time_of,
)

OTHER = "customers"
CATALOGUE = key_names.catalogue(TAP)
LAKE = key_names.LAKE_DOCUMENT


def healthy(count: int = 7, stream: str = STREAM) -> Store:
    """A lake of several commits, one record each; with small segments, of several segments."""
    store = new_store()
    land_each(store, range(count), stream)
    return store


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 2)


def first_path(store: Store) -> str:
    return paths_in(store)[0]


def last_file(body: dict[str, Any]) -> dict[str, Any]:
    return body["files"][-1]


def rewrite_last(store: Store, lines: list[bytes]) -> None:
    """Put other content under the newest file's name, with an entry that fits its bytes."""
    data = singer_file(lines)
    path = paths_in(store)[-1]
    overwrite(store, KEYS.under(path), data)


# Each of these breaks one promise. The last commit of the lake has sequence 7 and record 6.


def gap_in_sequences(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(sequence=9))


def gap_at_the_end(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: body.update(last_sequence=9))


def repeated_sequence(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(sequence=6))


def files_out_of_order(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: body["files"].reverse())


def file_listed_twice(store: Store) -> None:
    def change(body: dict[str, Any]) -> None:
        body["files"].append({**last_file(body), "sequence": 8})
        body["last_sequence"] = 8

    edit(store, KEYS.manifest, change)


def wrong_record_count(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(records=2))


def wrong_size(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(bytes=1))


def wrong_checksum(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(checksum="sha256:00"))


def wrong_times(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: last_file(body).update(first="2020-01-01T00:00:00Z"))


def changed_file(store: Store) -> None:
    rewrite_last(store, [schema_line(), record_line(6), record_line(6)])


def wrong_times_in_name(store: Store) -> None:
    path = put_file(store, [schema_line(), record_line(7)], [8])
    list_it(store, path)


def name_of_another_stream(store: Store) -> None:
    path = paths_in(store)[-1].replace("orders-", "others-")

    def change(body: dict[str, Any]) -> None:
        last_file(body).update(path=path)

    old = paths_in(store)[-1]
    store.create(KEYS.under(path), store.read(KEYS.under(old)).data)
    store.delete(KEYS.under(old))
    edit(store, KEYS.manifest, change)


def schema_not_first(store: Store) -> None:
    rewrite_last(store, [record_line(6), schema_line()])


def second_schema_line(store: Store) -> None:
    rewrite_last(store, [schema_line(), record_line(6), schema_line()])


def empty_file(store: Store) -> None:
    rewrite_last(store, [])


def truncated_file(store: Store) -> None:
    key = KEYS.under(paths_in(store)[-1])
    overwrite(store, key, store.read(key).data[:-10])


def not_a_gzip_file(store: Store) -> None:
    overwrite(store, KEYS.under(paths_in(store)[-1]), b"not gzip")


def file_of_another_stream(store: Store) -> None:
    rewrite_last(store, [schema_line(OTHER), record_line(6, OTHER)])


def mixed_streams(store: Store) -> None:
    rewrite_last(store, [schema_line(), record_line(6, OTHER)])


def file_of_another_schema(store: Store) -> None:
    rewrite_last(store, [schema_line(version=2), record_line(6)])


def other_schema_of_the_same_hash(store: Store) -> None:
    def change(body: dict[str, Any]) -> None:
        body["versions"][schema_hash()]["digest"] = "sha256:00"

    edit(store, KEYS.manifest, change)


def missing_file(store: Store) -> None:
    store.delete(KEYS.under(paths_in(store)[-1]))


def missing_file_in_a_segment(store: Store) -> None:
    store.delete(KEYS.under(first_path(store)))


def orphan_file(store: Store) -> None:
    put_orphan(store, 50)


def orphan_segment(store: Store) -> None:
    store.create(KEYS.under("_segments/1-000000000001-000000000002-0badcafe.json"), b"{}")


def missing_segment(store: Store) -> None:
    store.delete(segments(store)[0])


def corrupt_segment(store: Store) -> None:
    key = segments(store)[0]
    overwrite(store, key, store.read(key).data + b" ")


def missing_manifest(store: Store) -> None:
    store.delete(KEYS.manifest)


def corrupt_manifest(store: Store) -> None:
    overwrite(store, KEYS.manifest, b"{")


def manifest_of_another_stream(store: Store) -> None:
    edit(store, KEYS.manifest, lambda body: body.update(stream=OTHER))


def stale_lock(store: Store) -> None:
    store.create(lock_key(), b"{}")


def missing_catalogue(store: Store) -> None:
    store.delete(CATALOGUE)


def corrupt_catalogue(store: Store) -> None:
    overwrite(store, CATALOGUE, b"[]")


def catalogue_without_the_stream(store: Store) -> None:
    edit(store, CATALOGUE, lambda body: body["streams"].clear())


def catalogue_with_another_hash(store: Store) -> None:
    def change(body: dict[str, Any]) -> None:
        body["streams"][0]["metadata"][0]["metadata"]["singerlake.schema-hash"] = "0000000"

    edit(store, CATALOGUE, change)


def missing_lake_document(store: Store) -> None:
    store.delete(LAKE)


def corrupt_lake_document(store: Store) -> None:
    overwrite(store, LAKE, b"no JSON")


def lake_document_without_the_tap(store: Store) -> None:
    edit(store, LAKE, lambda body: body["taps"].clear())


def list_it(store: Store, path: str) -> None:
    """Have check adopt a file, then leave it as it is: its entry fits its content."""
    check(store, fix=True, times=QUICK)
    assert path in paths_in(store)


def segments(store: Store) -> list[str]:
    return [row.key for row in store.list(f"{KEYS.folder}/_segments")]


@dataclass(frozen=True)
class Broken:
    """How a promise is broken, the codes that must be found, and what mends it."""

    by: Callable[[Store], None]
    codes: tuple[str, ...]
    mended_by: str = ""


PROMISES = [
    Broken(gap_in_sequences, ("sequence-gap", "sequence-gap")),
    Broken(gap_at_the_end, ("sequence-gap",)),
    Broken(repeated_sequence, ("sequence-gap", "sequence-repeat")),
    Broken(files_out_of_order, ("sequence-order",)),
    Broken(file_listed_twice, ("file-repeat",)),
    Broken(wrong_record_count, ("file-records",), "rebuild"),
    Broken(wrong_size, ("file-size",), "rebuild"),
    Broken(wrong_checksum, ("file-checksum",), "rebuild"),
    Broken(wrong_times, ("file-times",), "rebuild"),
    Broken(changed_file, ("file-checksum", "file-records", *("file-size",) * 2), "rebuild"),
    Broken(wrong_times_in_name, ("name-wrong", "name-wrong")),
    Broken(name_of_another_stream, ("name-wrong",)),
    Broken(schema_not_first, ("file-corrupt",)),
    Broken(second_schema_line, ("file-corrupt",)),
    Broken(empty_file, ("file-corrupt",)),
    Broken(truncated_file, ("file-corrupt",)),
    Broken(not_a_gzip_file, ("file-corrupt",)),
    Broken(file_of_another_stream, ("file-checksum", *("file-size",) * 2, "stream-wrong")),
    Broken(mixed_streams, ("file-corrupt",)),
    Broken(
        file_of_another_schema,
        ("file-checksum", "file-size", "schema-wrong", "schema-wrong"),
    ),
    Broken(other_schema_of_the_same_hash, ("schema-wrong",) * 7),
    Broken(missing_file, ("file-missing",), "rebuild"),
    Broken(missing_file_in_a_segment, ("file-missing",), "rebuild"),
    Broken(orphan_file, ("orphan-file",), "fix"),
    Broken(orphan_segment, ("orphan-segment",), "fix"),
    Broken(missing_segment, ("manifest-corrupt",), "fix"),
    Broken(corrupt_segment, ("manifest-corrupt",), "fix"),
    Broken(missing_manifest, ("manifest-missing",), "fix"),
    Broken(corrupt_manifest, ("manifest-corrupt",), "fix"),
    Broken(manifest_of_another_stream, ("manifest-corrupt",), "fix"),
    Broken(stale_lock, ("stale-lock",), "fix"),
    Broken(missing_catalogue, ("catalogue-missing",), "fix"),
    Broken(corrupt_catalogue, ("catalogue-corrupt",), "fix"),
    Broken(catalogue_without_the_stream, ("catalogue-stream",), "fix"),
    Broken(catalogue_with_another_hash, ("catalogue-hash",), "fix"),
    Broken(missing_lake_document, ("lake-document-missing",), "fix"),
    Broken(corrupt_lake_document, ("lake-document-corrupt",), "fix"),
    Broken(lake_document_without_the_tap, ("lake-document-tap",), "fix"),
]


def named(broken: Broken) -> str:
    return broken.by.__name__.replace("_", " ")


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


@pytest.mark.parametrize("broken", [broken for broken in PROMISES if broken.mended_by], ids=named)
def test_a_rebuild_mends_it_too(broken: Broken) -> None:
    store = healthy()
    broken.by(store)
    rebuild(store)
    report = check(store, fix=broken.by is stale_lock, times=QUICK)
    assert report.clean or broken.by is stale_lock
    assert_clean(store)
    land(store, [7], times=QUICK)
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


# Rebuild


def without_metadata(store: Store) -> None:
    for key in objects_in(store, ".json"):
        store.delete(key)


def test_without_any_metadata_the_same_records_come_back_in_the_same_order() -> None:
    store = new_store()
    land_each(store, range(5))
    land(store, [5, 6, 7], version=2)
    land_each(store, range(8, 12))
    land(store, [3], stream="a/b")
    before, other = numbers_in(store), numbers_in(store, "a/b")
    files = {file.path: file for file in files_in(store)}
    catalogue = Lake(store).tap(TAP).catalogue()
    without_metadata(store)
    assert sorted(numbers_in(store)) == sorted(before)  # readers work meanwhile, by listing

    report = rebuild(store)
    assert (report.taps, report.streams, report.files, report.records) == (1, 2, 11, 13)
    assert sorted(report.renumbered) == sorted([KEYS.folder, StreamKeys(TAP, "a/b").folder])
    assert report.adopted == report.gone == report.changed == report.skipped == []
    assert_clean(store)
    assert numbers_in(store) == before
    assert numbers_in(store, "a/b") == other
    assert Lake(store).tap(TAP).catalogue() == catalogue
    for file in files_in(store):
        known = files[file.path]
        for field in ("records", "bytes", "raw_bytes", "first", "last", "checksum"):
            assert getattr(file, field) == getattr(known, field)
        assert (file.writer_id, file.run_id) == (known.writer_id, known.run_id)


def head(store: Store) -> manifests.Manifest:
    return Lake(store).stream(TAP, STREAM).snapshot().manifest


def test_where_the_manifest_can_be_read_its_numbers_and_its_log_stay() -> None:
    store = new_store()
    for number in (5, 3, 4, 0, 1, 2, 6):  # not in the order of their times
        land(store, [number])
    before, log_id, versions = files_in(store), head(store).log_id, head(store).versions
    rebuild(store)
    assert files_in(store) == before
    assert head(store).log_id == log_id
    assert head(store).versions == versions
    assert numbers_in(store) == [5, 3, 4, 0, 1, 2, 6]
    assert_clean(store)


@pytest.mark.parametrize(
    "broken", [missing_manifest, corrupt_manifest, missing_segment, corrupt_segment]
)
def test_where_the_manifest_cannot_be_read_the_log_gets_a_new_id(
    broken: Callable[[Store], None],
) -> None:
    store = healthy()
    log_id = head(store).log_id
    broken(store)
    report = rebuild(store)
    assert report.renumbered == [KEYS.folder]
    assert head(store).log_id not in ("", log_id)
    assert_once_each(store, 7)
    assert_clean(store)


def test_missing_files_leave_gaps_and_the_others_keep_their_numbers() -> None:
    store = healthy()
    gone = [paths_in(store)[index] for index in (0, 3, 6)]
    for path in gone:
        store.delete(KEYS.under(path))
    report = rebuild(store)
    assert report.gone == [KEYS.under(path) for path in gone]
    assert [file.sequence for file in files_in(store)] == [2, 3, 5, 6]
    assert [(gap.first_sequence, gap.last_sequence) for gap in head(store).gaps] == [
        (1, 1),
        (4, 4),
        (7, 7),
    ]
    assert gone[0] in head(store).gaps[0].reason
    assert_clean(store)
    (file,) = land(store, [7])
    assert file.sequence == 8
    rebuild(store)
    assert [file.sequence for file in files_in(store)] == [2, 3, 5, 6, 8]
    assert len(head(store).gaps) == 3
    assert_clean(store)


def test_orphans_are_adopted_behind_what_is_known_in_the_order_of_their_records() -> None:
    store = healthy()
    for number in (60, 3000, 59):
        put_orphan(store, number)
    report = rebuild(store)
    assert len(report.adopted) == 3
    assert numbers_in(store) == [*range(7), 59, 60, 3000]
    assert [file.sequence for file in files_in(store)] == list(range(1, 11))
    assert_clean(store)


def test_a_file_that_changed_is_reported_and_described_anew() -> None:
    store = healthy()
    changed_file(store)
    report = rebuild(store)
    assert report.changed == [paths_in(store)[-1]]
    assert files_in(store)[-1].records == 2
    assert_clean(store)


def test_a_damaged_file_keeps_its_place_and_is_reported() -> None:
    store = healthy()
    truncated_file(store)
    report = rebuild(store)
    assert len(report.skipped) == 1
    assert [file.sequence for file in files_in(store)] == list(range(1, 8))
    assert codes(check(store, times=QUICK)) == ["file-corrupt"]


def annotate(store: Store) -> dict[str, Any]:
    """What people write in the lake document."""

    def change(body: dict[str, Any]) -> None:
        body["taps"][TAP].update(owner="finance", tags={"pii": "yes"}, our_own={"x": 1})
        body["note"] = "do not touch"
        body["taps"]["tap-planned"] = {"owner": "soon"}

    edit(store, LAKE, change)
    return json.loads(store.read(LAKE).data)


def test_what_people_wrote_in_the_lake_document_is_kept() -> None:
    store = healthy()
    body = annotate(store)
    rebuild(store)
    assert json.loads(store.read(LAKE).data) == body
    lake_id = body["lake_id"]
    edit(store, LAKE, lambda body: body["taps"].pop(TAP))
    rebuild(store)
    after = json.loads(store.read(LAKE).data)
    assert after["lake_id"] == lake_id
    assert after["note"] == "do not touch"
    assert after["taps"]["tap-planned"] == {"owner": "soon"}
    assert TAP in after["taps"]


@pytest.mark.parametrize("key", [LAKE, CATALOGUE])
@pytest.mark.parametrize("mend", ["rebuild", "fix"])
def test_an_unreadable_document_is_kept_as_a_copy(key: str, mend: str) -> None:
    store = healthy()
    damaged = store.read(key).data[:-5] + b" what people wrote"
    overwrite(store, key, damaged)
    if mend == "rebuild":
        (copy,) = rebuild(store).set_aside
    else:
        check(store, fix=True, times=QUICK)
        (copy,) = (row for row in objects_in(store) if ".unreadable-" in row)
    assert store.read(copy).data == damaged
    assert_clean(store)


def test_a_newer_format_is_left_alone() -> None:
    store = healthy()
    edit(store, KEYS.manifest, lambda body: body.update(format_version=2))
    before = {key: store.read(key).data for key in objects_in(store)}
    for work in (lambda: check(store, fix=True, times=QUICK), lambda: rebuild(store)):
        with pytest.raises(SingerlakeError, match="newer"):
            work()
    assert {key: store.read(key).data for key in objects_in(store)} == before


def test_a_folder_that_mixes_two_schemas_is_refused_and_nothing_is_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = healthy()
    real = Schema.hash
    monkeypatch.setattr(Schema, "hash", lambda self: schema_hash_one(real, self))
    put_file(store, [schema_line(version=2), record_line(50)], [50])
    missing_manifest(store)
    before = objects_in(store)
    with pytest.raises(SchemaCollision, match="two different schemas share this hash"):
        rebuild(store)
    assert objects_in(store) == before


def schema_hash_one(real: Callable[[Any], str], schema: Any) -> str:
    """Pretend that versions 1 and 2 of the test's schema have the same hash."""
    found = real(schema)
    second = message_hash(real, 2)
    return message_hash(real, 1) if found == second else found


def message_hash(real: Callable[[Any], str], version: int) -> str:
    return real(decode_schema(schema_line(version=version)))


@pytest.mark.slow
def test_a_thousand_files_are_rebuilt_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 100)
    store = new_store()
    open_on(store, create=True)
    order = list(range(1000))
    random.Random(1).shuffle(order)
    for number in order:
        put_orphan(store, number)
    progress: list[tuple[int, int]] = []

    def shown(done: int, total: int) -> None:
        progress.append((done, total))

    report = rebuild(store, progress=shown)
    assert progress == [(done, 1000) for done in range(1, 1001)]
    assert (report.files, report.records) == (1000, 1000)
    assert numbers_in(store) == list(range(1000))
    assert len(head(store).files) <= 200
    assert len(head(store).segments) == 8
    progress.clear()
    assert check(store, times=QUICK, progress=shown).clean
    assert progress == [(done, 1000) for done in range(1, 1001)]
    assert objects_in(store, ".unreadable") == []


@pytest.mark.parametrize("work", ["check", "fix", "rebuild"])
def test_beside_a_writer_at_work_nothing_is_lost(work: str) -> None:
    store = new_store()
    land(store, [0])
    done = threading.Event()
    runs = 0
    writing = in_thread(land_each, store, range(1, 150))
    waiting = in_thread(lambda: (writing.join(), done.set()))
    while not done.is_set():
        runs += 1
        if work == "rebuild":
            with contextlib.suppress(CommitConflict):  # the writer may be quicker each time
                report = rebuild(store)
                assert report.gone == report.renumbered == []
        else:
            found = check(store, fix=work == "fix", times=QUICK)
            # A commit may be under way, and then it looks like one that was interrupted; with
            # so short a stale time even its lock may.
            assert set(codes(found)) <= {"orphan-file", "orphan-segment", "stale-lock"}
    writing.result()
    waiting.result()
    assert runs
    assert_once_each(store, 150)
    found = check(store, fix=True, times=QUICK)
    assert set(codes(found)) <= {"orphan-segment"}
    assert_clean(store)
    assert_once_each(store, 150)


def test_a_commit_that_lands_while_a_rebuild_puts_its_manifest_stays() -> None:
    store = healthy()
    gate = Gate(MANIFEST_REPLACE)
    rebuilding = in_thread(rebuild, Pausing(store, gate))
    gate.wait()
    land(store, [7])
    gate.open()
    rebuilding.result()
    assert_once_each(store, 8)
    assert_clean(store)


def test_two_rebuilds_that_make_the_missing_manifest_at_once_agree() -> None:
    store = healthy()
    missing_manifest(store)
    gates = [Gate(MANIFEST_CREATE), Gate(MANIFEST_CREATE)]
    rebuilds = [in_thread(rebuild, Pausing(store, gate)) for gate in gates]
    for gate in gates:
        gate.wait()
    for gate, rebuilding in zip(gates, rebuilds, strict=True):
        gate.open()
        rebuilding.result()
    assert_once_each(store, 7)
    assert_clean(store)


@pytest.fixture
def three_streams() -> Store:
    """Two taps, three streams, an orphan in each, and no catalogue and lake document."""
    store = new_store()
    for tap, stream in STREAMS:
        with open_on(store, create=True).writer(tap, options=options()) as writer:
            writer.write(schema_line(stream))
            writer.write(record_line(0, stream))
        keys = StreamKeys(tap, stream)
        (file,) = Lake(store).stream(tap, stream).since(0)
        store.create(
            keys.under(file.path.replace(".singer", "-0badcafe.singer")),
            store.read(keys.under(file.path)).data,
        )
    return store


STREAMS = [("tap-a", "one"), ("tap-a", "two"), ("tap-b", "one")]


def counts(store: Store) -> list[int]:
    return [len(list(Lake(store).stream(tap, stream).since(0))) for tap, stream in STREAMS]


@pytest.mark.parametrize("work", ["fix", "rebuild"])
@pytest.mark.parametrize(
    ("tap", "stream", "expected"),
    [(None, None, [2, 2, 2]), ("tap-a", None, [2, 2, 1]), ("tap-a", "two", [1, 2, 1])],
    ids=["the lake", "one tap", "one stream"],
)
def test_check_and_rebuild_keep_to_what_they_were_asked(
    three_streams: Store, work: str, tap: str | None, stream: str | None, expected: list[int]
) -> None:
    store = three_streams
    if work == "fix":
        report = check(store, tap, stream, fix=True, times=QUICK)
        assert codes(report) == ["orphan-file"] * (sum(expected) - 3)
        assert report.streams == sum(expected) - 3
    else:
        done = rebuild(store, tap, stream)
        assert len(done.adopted) == done.streams == sum(expected) - 3
    assert counts(store) == expected
    assert check(store, tap, stream, times=QUICK).clean


@pytest.mark.parametrize("damage", ["missing", "corrupt"])
def test_a_rebuild_of_one_stream_forgets_no_other(three_streams: Store, damage: str) -> None:
    store = three_streams
    for key in (key_names.catalogue("tap-a"), LAKE):
        store.delete(key)
        if damage == "corrupt":
            store.create(key, b"?")
    rebuild(store, "tap-a", "two")
    assert [tap.tap_id for tap in Lake(store).taps()] == ["tap-a", "tap-b"]
    assert [stream.name for stream in Lake(store).tap("tap-a").streams()] == ["one", "two"]


def test_one_stream_does_not_answer_for_the_documents_of_the_lake(three_streams: Store) -> None:
    store = three_streams
    store.delete(LAKE)
    store.delete(key_names.catalogue("tap-a"))
    assert codes(check(store, "tap-a", "one", times=QUICK)) == ["orphan-file"]
    assert "catalogue-missing" in codes(check(store, "tap-a", times=QUICK))
    assert "catalogue-missing" not in codes(check(store, "tap-b", times=QUICK))


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
