"""Merged files and those they replaced, beside adoption, rebuild, lost answers and the purge.

Whatever happens between them, each line is read once, and what the lake names is there.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import timedelta

import pytest

from singerlake.errors import BusyError, OutcomeUnknown, StaleBookmark
from singerlake.format import manifest as manifests
from singerlake.format.keys import FileName, file_path
from singerlake.format.manifest import File
from singerlake.lake import (
    Bookmark,
    Lake,
    Snapshot,
    check,
    log,
    merge,
    open_on,
    rebuild,
    replacement,
)
from singerlake.lake.feed import position
from singerlake.lake.purging import purge
from singerlake.lake.replacement import Replacement
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Listed, MemoryStore, Store, StoreWrapper
from tests.lake.faulty_store import MANIFEST_REPLACE, LosingAnswers, Lost
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    codes,
    copy_of,
    files_in,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
    older_names,
    options,
    record_line,
    schema_hash,
    schema_line,
    time_of,
)
from tests.lake.merging import AT_ONCE, OPTIONS, BeforeTheCommit, merged_lake, purge_at_once


@pytest.mark.parametrize("mend", ["fix", "rebuild"])
def test_what_a_merge_replaced_is_not_adopted_where_its_document_is_lost(mend: str) -> None:
    store = merged_lake(1, 2, 3)
    for key in [key for key in objects_in(store) if "/_merges/" in key]:
        store.delete(key)
    found = check(store)
    assert codes(found) == ["merge-wrong", "orphan-file", "orphan-file", "orphan-file"]
    assert not any(finding.fixable for finding in found.findings)
    if mend == "fix":
        check(store, fix=True)
    else:
        rebuild(store)
    assert numbers_in(store) == [1, 2, 3]


def test_a_rebuild_takes_the_originals_back_where_their_merged_file_is_gone() -> None:
    store = merged_lake(*range(10))
    (lost,) = files_in(store)
    store.delete(KEYS.under(lost.path))
    bookmark = Lake(store).stream(TAP, STREAM).increment().until
    report = rebuild(store)
    assert (report.gone, report.adopted) == ([], [])
    assert numbers_in(store) == list(range(10))
    assert [row.sequence for row in files_in(store)] == list(range(1, 11))
    assert not list(Lake(store).stream(TAP, STREAM).increment(bookmark).files())
    assert codes(check(store)) == ["orphan-merge"]  # its document
    again = rebuild(store)
    assert (again.adopted, again.gone) == ([], [])
    purge_at_once(store)
    assert numbers_in(store) == list(range(10))
    assert_clean(store)


@pytest.fixture
def older() -> Iterator[None]:
    """Files are named as they once were: a purge makes a name free for another."""
    with older_names():
        yield


def land_under_a_retired_name(store: Store) -> None:
    """Another record of the very time of record 1, whose file's name is free again."""
    with open_on(store).writer(TAP, options=options()) as writer:
        writer.write(schema_line())
        writer.write(record_line(1).replace(b'"id": 1', b'"id": 111'))


def purged_lake() -> MemoryStore:
    store = merged_lake(1, 2)
    assert len(purge_at_once(store)) == 2
    return store


@pytest.mark.usefixtures("older")
def test_a_file_under_the_name_of_a_purged_one_is_read_rebuilt_and_kept() -> None:
    store = purged_lake()
    retired = file_path(schema_hash(), FileName(STREAM, time_of(1), time_of(1)))
    land_under_a_retired_name(store)
    assert files_in(store)[-1].path == retired  # or this shows nothing
    assert numbers_in(store) == [1, 2, 111]
    assert_clean(store)
    purge_at_once(store)
    assert numbers_in(store) == [1, 2, 111]
    store.delete(KEYS.manifest)
    assert sorted(numbers_in(store)) == [1, 2, 111]  # by listing
    rebuild(store)
    assert sorted(numbers_in(store)) == [1, 2, 111]
    assert_clean(store)
    assert KEYS.under(retired) not in purge_at_once(store)
    assert sorted(numbers_in(store)) == [1, 2, 111]


@pytest.mark.usefixtures("older")
def test_a_purge_spares_the_upload_that_a_writer_is_about_to_commit_under_a_retired_name() -> None:
    store = purged_lake()
    beside = BeforeTheCommit(store, purge_at_once)
    land_under_a_retired_name(beside)
    assert beside.happened
    assert numbers_in(store) == [1, 2, 111]
    assert_clean(store)


@pytest.mark.usefixtures("older")
def test_a_purge_spares_such_an_upload_also_where_another_merge_tells_of_the_retired_name() -> None:
    """A merge of the merged file remembers the name, and is younger than the upload."""
    store = purged_lake()
    land_each(store, [3, 4])

    def merge_again_and_purge(inner: Store) -> None:
        vacuum(inner, KEYS, VacuumOptions(lock=QUICK))
        assert len(files_in(inner)) == 1
        purge_at_once(inner)

    beside = BeforeTheCommit(store, merge_again_and_purge)
    land_under_a_retired_name(beside)
    assert beside.happened
    assert numbers_in(store) == [1, 2, 3, 4, 111]
    assert_clean(store)


class ClockBehind(StoreWrapper):
    """A store whose clock is hours behind that of the machines."""

    def list(self, prefix: str) -> Iterator[Listed]:
        for row in self.inner.list(prefix):
            yield replace(row, modified=row.modified - timedelta(hours=3))


@pytest.mark.usefixtures("older")
def test_a_purge_spares_such_an_upload_also_where_the_store_s_clock_is_behind() -> None:
    """The time of an earlier merge is by the clock of its machine, that of the upload is not."""
    store = ClockBehind(purged_lake())
    land_each(store, [3, 4])
    vacuum(store, KEYS, VacuumOptions(lock=QUICK))
    assert len(files_in(store)) == 1
    beside = BeforeTheCommit(store, purge_at_once)
    land_under_a_retired_name(beside)
    assert beside.happened
    assert numbers_in(store) == [1, 2, 3, 4, 111]
    assert_clean(store)


@pytest.mark.parametrize("by_rebuild", [False, True])
def test_a_merge_that_was_refused_does_not_hide_one_whose_files_are_purged(
    by_rebuild: bool,
) -> None:
    """Both share some files, and the refused one has more."""
    store = new_store()
    land_each(store, range(9))
    rows = files_in(store)
    refused = merge.merge_files(store, KEYS, rows[3:9], 1, "refused")
    done = merge.merge_files(store, KEYS, rows[0:5], 1, "done")
    replacement.commit_merges(store, KEYS, [Replacement(done, tuple(rows[0:5]))], "done", PATIENT)
    late = Replacement(refused, tuple(rows[3:9]))
    with pytest.raises(BusyError):
        replacement.commit_merges(store, KEYS, [late], "refused", PATIENT)
    purge(store, KEYS, AT_ONCE)
    store.delete(KEYS.manifest)
    if by_rebuild:
        rebuild(store)
        assert codes(check(store)) == ["orphan-merge"] * 2
    assert sorted(numbers_in(store)) == list(range(9))


def test_of_merges_that_share_files_each_is_taken_that_has_lines_of_its_own() -> None:
    """Rather twice than not at all: the refused merge is the largest, and all its files are gone,
    in two merges with one more file each."""
    store = new_store()
    land_each(store, range(8))
    rows = files_in(store)
    merge.merge_files(store, KEYS, rows[1:7], 1, "refused")
    groups = [tuple(rows[0:4]), tuple(rows[4:8])]
    replacements = [
        Replacement(merge.merge_files(store, KEYS, group, 1, "w"), group) for group in groups
    ]
    replacement.commit_merges(store, KEYS, replacements, "w", PATIENT)
    purge(store, KEYS, AT_ONCE)
    store.delete(KEYS.manifest)
    assert set(numbers_in(store)) == set(range(8))
    rebuild(store)
    assert set(numbers_in(store)) == set(range(8))


@pytest.mark.parametrize("rounds", range(2, 7))
def test_a_lost_manifest_is_made_again_from_merges_that_have_forgotten_what_is_gone(
    rounds: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge, "FORGET", AT_ONCE)
    store = new_store()
    for start in range(0, 3 * rounds, 3):
        land_each(store, range(start, start + 3))
        vacuum(store, KEYS, OPTIONS)
        if start % 2:
            purge_at_once(store)
    everything = list(range(3 * rounds))
    assert numbers_in(store) == everything
    assert_clean(store)
    store.delete(KEYS.manifest)
    assert numbers_in(store) == everything
    rebuild(store)
    assert numbers_in(store) == everything
    assert_clean(store)
    purge_at_once(store)
    assert numbers_in(store) == everything
    assert_clean(store)


def test_a_vacuum_whose_answer_was_lost_is_done_and_deletes_no_segment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 3)
    store = new_store()
    land_each(store, range(30))
    rows = files_in(store)
    groups = [tuple(rows[0:2]), tuple(rows[2:4])]
    merged = [merge.merge_files(store, KEYS, group, 1, "first") for group in groups]
    held: list[Snapshot] = []

    def second_vacuum() -> None:
        held.append(Snapshot(store, KEYS, log.read_head(store, KEYS).manifest))
        committed = tuple(files_in(store)[:2])
        again = merge.merge_files(store, KEYS, committed, 1, "second")
        replacement.commit_merges(store, KEYS, [Replacement(again, committed)], "second", PATIENT)

    losing = LosingAnswers(store, Lost(MANIFEST_REPLACE, OutcomeUnknown, second_vacuum))
    replacements = [Replacement(*pair) for pair in zip(merged, groups, strict=True)]
    replacement.commit_merges(losing, KEYS, replacements, "first", PATIENT)
    assert numbers_in(store) == list(range(30))
    assert [record["id"] for record in held[0].records()] == list(range(30))
    assert_clean(store)


def test_a_vacuum_at_both_ends_of_a_long_log_leaves_a_small_manifest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 4)
    store = new_store()
    land_each(store, range(60))
    rows = files_in(store)
    groups = [tuple(rows[:2]), tuple(rows[-2:])]
    replacements = [
        Replacement(merge.merge_files(store, KEYS, group, 1, "w"), group) for group in groups
    ]
    untouched = log.read_head(store, KEYS).manifest.segments[1:-1]
    head = replacement.commit_merges(store, KEYS, replacements, "w", PATIENT)
    assert len(head.manifest.files) <= 2 * manifests.FAN_OUT
    assert {row.path for row in untouched} <= {
        *log.segment_paths(store, KEYS, head.manifest),
    }
    assert numbers_in(store) == list(range(60))


@pytest.mark.parametrize("purged", [False, True])
def test_reading_by_listing_after_a_vacuum_gives_each_record_once(purged: bool) -> None:
    store = merged_lake(1, 2, 3)
    if purged:
        purge_at_once(store)
    store.delete(KEYS.manifest)
    assert numbers_in(store) == [1, 2, 3]


def test_a_stream_that_loses_its_manifest_twice_keeps_its_merged_lines() -> None:
    """The first rebuild writes a second document for the merged file."""
    store = merged_lake(1, 2, 3)
    for _ in range(2):
        store.delete(KEYS.manifest)
        assert numbers_in(store) == [1, 2, 3]
        rebuild(store)
        assert numbers_in(store) == [1, 2, 3]
        assert_clean(store)
    purge_at_once(store)
    store.delete(KEYS.manifest)
    rebuild(store)
    assert numbers_in(store) == [1, 2, 3]


def test_segments_that_writers_sealed_while_a_vacuum_ran_wait_for_the_purge_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    store = new_store()
    land_each(store, range(8))
    held = []

    def beside_a_writer(
        work: Callable[[tuple[File, ...]], File], groups: Iterable[tuple[File, ...]]
    ) -> Iterator[File]:
        merged = [work(group) for group in groups]
        land_each(store, range(8, 14))
        held.append(Lake(store).stream(TAP, STREAM).snapshot())
        return iter(merged)

    vacuum(store, KEYS, OPTIONS, run=beside_a_writer)
    assert_clean(store)
    check(store, fix=True, times=QUICK)
    assert [record["id"] for record in held[0].records()] == list(range(14))
    without_manifest = copy_of(store)
    without_manifest.delete(KEYS.manifest)
    assert sorted(numbers_in(without_manifest)) == list(range(14))
    rebuild(without_manifest)
    assert sorted(numbers_in(without_manifest)) == list(range(14))
    purge_at_once(store)
    assert numbers_in(store) == list(range(14))
    assert_clean(store)
    named = set(log.segment_paths(store, KEYS, log.read_head(store, KEYS).manifest))
    assert {KEYS.under(path) for path in named} == {
        key for key in objects_in(store) if "/_segments/" in key
    }


def test_a_purge_with_a_short_grace_spares_the_merge_of_a_vacuum_that_is_under_way() -> None:
    store = new_store()
    land_each(store, range(3))
    removed: list[str] = []

    def with_a_purge(
        work: Callable[[tuple[File, ...]], File], groups: Iterable[tuple[File, ...]]
    ) -> Iterator[File]:
        merged = [work(group) for group in groups]
        removed.extend(purge(store, KEYS, AT_ONCE))
        return iter(merged)

    vacuum(store, KEYS, OPTIONS, run=with_a_purge)
    assert removed == []
    assert numbers_in(store) == [0, 1, 2]
    assert_clean(store)


def test_the_feed_refuses_a_place_that_its_log_does_not_have() -> None:
    store = new_store()
    land(store, [5])
    land(store, [1])
    stream = Lake(store).stream(TAP, STREAM)
    snapshot = stream.snapshot()
    with pytest.raises(StaleBookmark, match="older than the bookmark"):
        stream.increment(Bookmark(snapshot.manifest.log_id, 999))
    last = position.after(snapshot, list(snapshot.files())[-1])
    assert list(stream.increment(last).files()) == []
    land(store, [3])
    assert [file.sequence for file in stream.increment(last).files()] == [3]
    store.delete(KEYS.manifest)
    rebuild(store)
    with pytest.raises(StaleBookmark, match="another log"):
        stream.increment(last)
    assert len(list(stream.increment(Bookmark(stream.snapshot().manifest.log_id, 1)).files())) == 2


@pytest.mark.parametrize("blank", [b" \n", b"\n \t\r\n", b" " * 3000 + b"\n"])
def test_blank_lines_before_the_schema_do_not_come_between_in_a_merge(blank: bytes) -> None:
    store = new_store()
    land(store, [1])
    path = file_path(schema_hash(), FileName(STREAM, time_of(2), time_of(2)))
    content = blank + schema_line() + b"\n" + blank + record_line(2) + b"\n"
    store.create(KEYS.under(path), gzip.compress(content))
    check(store, fix=True, times=QUICK)
    land(store, [3])
    assert numbers_in(store) == [1, 2, 3]
    vacuum(store, KEYS, OPTIONS)
    assert numbers_in(store) == [1, 2, 3]
    assert_clean(store)


@pytest.mark.parametrize("version", [1, 3], ids=["files copied first", "documents copied first"])
def test_a_copy_of_a_lake_whose_times_are_new_is_read_rebuilt_and_purged_alike(
    version: int,
) -> None:
    """Such as a sync between buckets makes, in the order of a listing."""
    store = new_store()
    land_each(store, range(5), version=version)
    vacuum(store, KEYS, OPTIONS)
    copy = copy_of(store)
    assert_clean(copy)
    report = rebuild(copy)
    assert report.adopted == []
    assert numbers_in(copy) == list(range(5))
    copy.delete(KEYS.manifest)
    copy.delete(KEYS.manifest_copy)
    assert numbers_in(copy) == list(range(5))
    rebuild(copy)
    assert numbers_in(copy) == list(range(5))
    assert_clean(copy)
    assert len(purge_at_once(copy)) == 5 + 1  # and the document that the rebuild wrote anew
    assert numbers_in(copy) == list(range(5))
    assert_clean(copy)


def test_a_retired_file_is_no_orphan_and_a_purge_leaves_only_what_is_named() -> None:
    store = merged_lake(*range(4))
    land_each(store, range(4, 8))
    vacuum(store, KEYS, OPTIONS)
    assert_clean(store)
    purge_at_once(store)
    assert len(objects_in(store, ".singer.gz")) == 1
    assert numbers_in(store) == list(range(8))
    assert_clean(store)
