"""A rebuild makes what is known of a lake anew from its files, and loses nothing that is there."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any

import pytest

from singerlake.errors import SchemaCollision, SingerlakeError
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.message import decode_schema
from singerlake.format.schema import Schema
from singerlake.lake import Lake, check, open_on, rebuild
from singerlake.store import Store
from tests.lake.broken_promises import (
    CATALOGUE,
    LAKE,
    PROMISES,
    Broken,
    changed_file,
    corrupt_manifest,
    corrupt_segment,
    healthy,
    missing_manifest,
    missing_segment,
    named,
    stale_lock,
    truncated_file,
)
from tests.lake.faulty_store import (
    MANIFEST_CREATE,
    MANIFEST_REPLACE,
    Gate,
    Pausing,
    in_thread,
)
from tests.lake.landing import (
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
    new_store,
    numbers_in,
    objects_in,
    older_names,
    options,
    overwrite,
    paths_in,
    put_file,
    put_orphan,
    record_line,
    schema_line,
)

pytestmark = pytest.mark.usefixtures("small_segments")


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


@pytest.mark.parametrize("manifest", ["missing", "older"])
def test_files_with_the_same_times_keep_the_order_of_their_writer(manifest: str) -> None:
    """Their names differ in a random suffix only, and a later record replaces an earlier one."""
    store = new_store()
    land(store, [0])
    before = store.read(KEYS.manifest).data
    same = record_line(7)
    with open_on(store).writer(TAP, options=options(max_file_records=1)) as writer:
        writer.write(schema_line())
        for number in range(100, 115):
            writer.write(same.replace(b'"id": 7', b'"id": %d' % number))
    put_orphan(store, 3)  # without an origin
    missing_manifest(store)
    if manifest == "older":
        store.create(KEYS.manifest, before)
    rebuild(store)
    assert numbers_in(store) == [0, 3, *range(100, 115)]


def test_a_file_with_an_older_name_that_changed_is_reported_and_described_anew() -> None:
    with older_names():
        store = healthy()
    changed_file(store)
    report = rebuild(store)
    assert report.changed == [paths_in(store)[-1]]
    changed = files_in(store)[-1]
    assert (changed.records, changed.writer_id, changed.run_id) == (2, "", "")
    assert_clean(store)


def test_a_file_that_is_not_what_its_name_says_keeps_its_place_and_is_reported() -> None:
    store = healthy()
    changed_file(store)
    report = rebuild(store)
    assert (len(report.skipped), report.changed) == (1, [])
    assert "its SHA-256 begins with" in report.skipped[0]
    assert [file.sequence for file in files_in(store)] == list(range(1, 8))
    missing_manifest(store)
    assert rebuild(store).skipped == report.skipped
    assert numbers_in(store) == list(range(6))


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


def test_orphans_that_mix_two_schemas_are_not_adopted(monkeypatch: pytest.MonkeyPatch) -> None:
    store = new_store()
    land(store, [0], version=3)
    real = Schema.hash
    monkeypatch.setattr(Schema, "hash", lambda self: schema_hash_one(real, self))
    put_file(store, [schema_line(version=1), record_line(50)], [50])
    put_file(store, [schema_line(version=2), record_line(51)], [51])
    before = {key: store.read(key).data for key in objects_in(store)}
    with pytest.raises(SchemaCollision, match="two different schemas share this hash"):
        check(store, fix=True, times=QUICK)
    assert {key: store.read(key).data for key in objects_in(store)} == before


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


def test_a_lost_file_whose_older_name_was_taken_again_leaves_a_gap_and_no_record_twice() -> None:
    store = new_store()
    with older_names():
        for number in (1, 2):
            land(store, [number])
        lost = files_in(store)[0]
        store.delete(KEYS.under(lost.path))
        land(store, [1])  # extracted again, with the same time: the free name is taken
    assert [file.path == lost.path for file in files_in(store)] == [True, False, True]
    report = rebuild(store)
    assert report.gone == [KEYS.under(lost.path)]
    assert report.changed == []
    assert [file.sequence for file in files_in(store)] == [2, 3]
    assert [(gap.first_sequence, gap.last_sequence) for gap in head(store).gaps] == [(1, 1)]
    assert numbers_in(store) == [2, 1]
    assert_clean(store)


def test_a_row_that_stands_twice_leaves_no_gap_where_its_file_is() -> None:
    store = new_store()
    land_each(store, range(3))
    edit(store, KEYS.manifest, lambda body: body["files"].insert(1, body["files"][1]))
    assert codes(check(store, times=QUICK)) == ["file-repeat", "sequence-repeat"]
    rebuild(store)
    assert head(store).gaps == ()
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)
