"""After a backup was put back: log, files and all that knows of them agree again."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from singerlake.errors import StaleBookmark
from singerlake.format import keys as key_names
from singerlake.lake import Bookmark, Cursor, Lake, markers
from singerlake.lake.restore_report import Restored, RestoreReport
from singerlake.lake.restoring import restore
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import DryRun, MemoryStore, Store
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    assert_clean,
    copy_of,
    files_in,
    land,
    new_store,
    numbers_in,
    overwrite,
)
from tests.lake.test_markers import codes, delete, end_of, marked, run


@pytest.fixture
def store() -> MemoryStore:
    """A stream of three commits by two runs, and another."""
    store = new_store()
    run(store, 1, 2)
    run(store, 1, stream="others")
    return store


def manifest_of(store: Store) -> bytes:
    return store.read(KEYS.manifest).data


def stands(report: RestoreReport, stream: str = STREAM) -> Restored:
    (found,) = (one for one in report.streams if one.stream == stream)
    return found


def objects(store: Store) -> dict[str, bytes]:
    return {row.key: store.read(row.key).data for row in store.list("")}


def planned(store: Store, *place: str) -> RestoreReport:
    """What it would do; nothing is changed by that."""
    before = objects(store)
    report = restore(DryRun(store), *place)
    assert objects(store) == before
    return report


def restored(store: Store, *place: str) -> RestoreReport:
    """What it did, which is what it said before. Afterwards all agrees, and stays as it is."""
    plan = planned(store, *place)
    report = restore(store, *place)
    assert [(one.stream, one.state) for one in plan.streams] == [
        (one.stream, one.state) for one in report.streams
    ]
    assert_clean(store)
    after = objects(store)
    assert restore(store).agrees
    assert objects(store) == after
    return report


def test_a_lake_that_agrees_is_left_alone(store: MemoryStore) -> None:
    before = objects(store)
    report = restore(store)
    assert report.agrees
    assert [one.state for one in report.streams] == ["whole", "whole"]
    assert objects(store) == before


def test_an_older_manifest_begins_a_new_log_behind_its_end(store: MemoryStore) -> None:
    before = manifest_of(store)
    early = Lake(store).stream(TAP, STREAM).increment().until
    run(store, 3, 4)
    late = Lake(store).stream(TAP, STREAM).increment().until
    overwrite(store, KEYS.manifest, before)
    report = restored(store)
    stood = stands(report)
    assert (stood.state, stood.last_sequence, stood.newer_files) == ("shorter", 2, 2)
    assert stands(report, "others").state == "whole"
    assert len(report.adopted) == 2
    assert report.began_anew == [f"{KEYS.folder} up to 2"]
    assert numbers_in(store) == [1, 2, 3, 4]
    assert marked(store) == end_of(store)
    increment = Lake(store).stream(TAP, STREAM).increment(early)
    assert [file.sequence for file in increment.files()] == [3, 4]
    with pytest.raises(StaleBookmark):
        Lake(store).stream(TAP, STREAM).increment(late)
    land(store, [5])
    assert numbers_in(store) == [1, 2, 3, 4, 5]


def test_the_files_alone_begin_a_new_log(store: MemoryStore) -> None:
    """No run ended, and nobody has read: yet the numbers may have been given out."""
    before = manifest_of(store)
    land(store, [3])
    overwrite(store, KEYS.manifest, before)
    report = restored(store, TAP, STREAM)
    assert stands(report).state == "newer files"
    assert report.began_anew == [f"{KEYS.folder} up to 2"]
    assert numbers_in(store) == [1, 2, 3]


def test_what_is_gone_is_accepted(store: MemoryStore) -> None:
    delete(store, KEYS.folder)
    report = restored(store)
    assert stands(report).state == "gone"
    assert "the catalogue knows of commits up to sequence 2" in stands(report).reasons[0]
    delete(store, key_names.tap_folder(TAP))
    assert restored(store).missing_taps == [key_names.catalogue(TAP)]
    assert Lake(store).tap(TAP).streams() == []


def test_one_stream_is_restored_and_no_other(store: MemoryStore) -> None:
    delete(store, KEYS.folder)
    delete(store, f"{key_names.tap_folder(TAP)}/others")
    report = restore(store, TAP, STREAM)
    assert [one.stream for one in report.streams] == [STREAM]
    assert codes(store) == ["stream-missing"]


def test_a_folder_that_was_put_back_agrees_again(store: MemoryStore) -> None:
    backup = copy_of(store)
    delete(store, KEYS.folder)
    for row in backup.list(KEYS.folder):
        store.create(row.key, backup.read(row.key).data)
    assert restored(store).agrees
    assert numbers_in(store) == [1, 2]


def test_a_folder_of_an_older_backup(store: MemoryStore) -> None:
    backup = copy_of(store)
    run(store, 3)
    delete(store, KEYS.folder)
    for row in backup.list(KEYS.folder):
        store.create(row.key, backup.read(row.key).data)
    report = restored(store)
    assert (stands(report).state, stands(report).newer_files) == ("shorter", 0)
    assert any("3" in reason for reason in stands(report).reasons)
    assert numbers_in(store) == [1, 2]


def test_files_that_are_not_in_the_backup_become_gaps(store: MemoryStore) -> None:
    gone = KEYS.under(files_in(store)[1].path)
    store.delete(gone)
    report = restored(store)
    assert (stands(report).state, stands(report).missing_files) == ("missing files", 1)
    assert report.recorded == [gone]


def test_a_stream_without_a_manifest(store: MemoryStore) -> None:
    store.delete(KEYS.manifest)
    report = restored(store)
    assert (stands(report).state, stands(report).last_sequence) == ("no log", None)
    assert numbers_in(store) == [1, 2]


LAKE = key_names.LAKE_DOCUMENT
CATALOGUE = key_names.catalogue(TAP)


@pytest.mark.parametrize("key", [CATALOGUE, LAKE])
@pytest.mark.parametrize("data", [None, b"{"], ids=["lost", "torn"])
def test_a_document_that_is_lost_or_torn(store: MemoryStore, key: str, data: bytes | None) -> None:
    store.delete(key)
    if data is not None:
        store.create(key, data)
    report = restored(store)
    assert not report.agrees
    assert [line.partition(": ")[0] for line in report.documents] == [key]
    assert [store.read(copy).data for copy in report.set_aside] == ([] if data is None else [data])
    assert [one.state for one in report.streams] == ["whole", "whole"]
    assert [one.name for one in Lake(store).tap(TAP).streams()] == [STREAM, "others"]


def test_an_older_catalogue(store: MemoryStore) -> None:
    older = store.read(CATALOGUE).data
    run(store, 1, stream="came later")
    overwrite(store, CATALOGUE, older)
    report = restored(store, TAP, "came later")
    assert report.documents == [
        f"{CATALOGUE}: stream 'came later' has files, and is not in it",
    ]


def test_a_catalogue_beside_a_stream_of_which_no_file_is_left(store: MemoryStore) -> None:
    """But what a merge left: the stream is gone, and that is accepted."""
    vacuum(store, KEYS, VacuumOptions())
    for row in list(store.list(KEYS.folder)):
        if "/_merges/" not in row.key:
            store.delete(row.key)
    report = restore(store)
    assert (stands(report).state, stands(report, "others").state) == ("gone", "whole")


def by_a_run(store: Store, place: Bookmark) -> None:
    """It knows by itself: `run` has written it."""


def by_a_pin(store: Store, place: Bookmark) -> None:
    Lake(store).pin("kept")


def by_a_consumer(store: Store, place: Bookmark) -> None:
    cursor = Cursor({(TAP, STREAM): place})
    store.create("raw/_consumers/worker.json", cursor.encode())


def by_a_job(store: Store, place: Bookmark) -> None:
    body = json.loads(store.read(key_names.LAKE_DOCUMENT).data)
    seen = "2026-01-01T00:00:00Z"
    row = {"kind": "replay", "name": "nightly", "log_id": place.log_id, "seen": seen}
    body["lineage"] = {TAP: {STREAM: [row | {"sequence": place.sequence}]}}
    overwrite(store, key_names.LAKE_DOCUMENT, json.dumps(body).encode())


@pytest.mark.parametrize(
    ("knows", "says"),
    [
        (by_a_run, "the run "),
        (by_a_pin, "the pin 'kept'"),
        (by_a_consumer, "the consumer 'worker'"),
        (by_a_job, "the replay 'nightly'"),
    ],
)
def test_each_that_knows_is_asked(
    store: MemoryStore, knows: Callable[[Store, Bookmark], None], says: str
) -> None:
    """Without its marker, and without its files, which prove something too."""
    backup = copy_of(store)
    (run if knows is by_a_run else land_one)(store, 3)
    place = Lake(store).stream(TAP, STREAM).increment().until
    assert place is not None
    knows(store, place)
    for row in files_in(store)[2:]:
        store.delete(KEYS.under(row.path))
    overwrite(store, KEYS.manifest, backup.read(KEYS.manifest).data)
    markers.settle(store, TAP, {STREAM: None})
    report = planned(store)
    assert stands(report).state == "shorter"
    assert says in stands(report).reasons[0]
    restore(store)
    assert end_of(store) != markers.Marker(place.log_id, 2), "a new log"
    if knows is not by_a_pin:  # which cannot be read any more
        assert codes(store) == []
        assert restore(store).agrees


def land_one(store: Store, number: int) -> None:
    land(store, [number])


def test_nothing_that_a_purge_or_vacuum_left_is_taken_for_new(store: MemoryStore) -> None:
    vacuum(store, KEYS, VacuumOptions())
    assert restored(store).agrees
    assert numbers_in(store) == [1, 2]
