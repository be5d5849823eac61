"""Vacuum: fewer files, and every reader sees every line where it was."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from singerlake import Lake, check, open_lake, rebuild
from singerlake.errors import BusyError, Changed, CorruptFile, OutcomeUnknown, SingerlakeError
from singerlake.format import manifest as manifests
from singerlake.format.keys import StreamKeys
from singerlake.format.manifest import File
from singerlake.lake import Bookmark, Level, Selection, Snapshot, log, merge, replacement
from singerlake.lake.feed import position
from singerlake.lake.lock import LockTimes
from singerlake.lake.purging import purge
from singerlake.lake.replacement import Replacement
from singerlake.lake.vacuum import VacuumOptions, plan, vacuum
from singerlake.store import MemoryStore, StoreWrapper
from tests.lake.faulty_store import MANIFEST_REPLACE, LosingAnswers, Lost

TAP = "tap-x--test"
KEYS = StreamKeys(TAP, "orders")
OPTIONS = VacuumOptions(lock=LockTimes(max_wait=20))
numbers_of_lakes = iter(range(10_000))


def new_lake() -> Lake:
    return open_lake(f"memory://vacuum-{next(numbers_of_lakes)}", create=True)


def land(lake: Lake, numbers: list[int], version: str = "a") -> None:
    schema = {"properties": {"id": {"type": "integer"}}, "title": version}
    message = {"type": "SCHEMA", "stream": "orders", "schema": schema, "key_properties": ["id"]}
    with lake.writer(TAP) as writer:
        writer.write(json.dumps(message).encode())
        for number in numbers:
            record = {"type": "RECORD", "stream": "orders", "record": {"id": number}}
            moment = f"2026-01-01T00:{number // 60 % 60:02d}:{number % 60:02d}Z"
            writer.write(json.dumps({**record, "time_extracted": moment}).encode())
            if number % 7 == 0:
                activate = {"type": "ACTIVATE_VERSION", "stream": "orders", "version": number}
                writer.write(json.dumps(activate).encode())


def snapshot(lake: Lake) -> Snapshot:
    return lake.stream(TAP, "orders").snapshot()


def lines(taken: Snapshot, selection: Selection | None = None) -> list[bytes]:
    """Every line but SCHEMA lines, in the order a reader gets them."""
    chosen = selection or Selection()
    return [
        line
        for file in taken.files(chosen)
        for line in taken.lines(file, chosen)
        if b'"SCHEMA"' not in line
    ]


def ids(found: list[bytes]) -> list[int]:
    messages = map(json.loads, found)
    return [message["record"]["id"] for message in messages if message["type"] == "RECORD"]


def files(lake: Lake) -> list[File]:
    return list(snapshot(lake).files())


def test_small_files_become_one_and_every_line_stays_in_its_place() -> None:
    lake = new_lake()
    for start in range(0, 100, 5):
        land(lake, list(range(start, start + 5)))
    before = lines(snapshot(lake))
    report = vacuum(lake.store, KEYS, OPTIONS)
    assert (report.files_before, report.files_after) == (20, 1)
    assert lines(snapshot(lake)) == before
    assert [(file.lowest_sequence, file.sequence) for file in files(lake)] == [(1, 20)]
    assert check(lake.store).findings == []


def test_a_dry_run_changes_nothing() -> None:
    lake = new_lake()
    for number in range(3):
        land(lake, [number])
    before = [row.key for row in lake.store.list("")]
    report = vacuum(lake.store, KEYS, OPTIONS, dry_run=True)
    assert report.merged_files == 3
    assert [row.key for row in lake.store.list("")] == before


@settings(max_examples=25)
@given(
    versions=st.lists(st.sampled_from("ab"), min_size=1, max_size=12),
    rounds=st.lists(st.integers(1, 6), min_size=1, max_size=3),
    data=st.data(),
)
def test_every_bookmark_keeps_its_meaning_through_any_vacuums(
    versions: list[str], rounds: list[int], data: st.DataObject
) -> None:
    lake = new_lake()
    for number, version in enumerate(versions):
        land(lake, [10 * number, 10 * number + 7], version)
    old = snapshot(lake)
    expected = {
        (since, until): lines(old, Selection(since=since, until=until))
        for since in range(len(versions) + 1)
        for until in (None, *range(since, len(versions) + 1))
    }
    for most in rounds:
        target = 600 * most
        vacuum(lake.store, KEYS, VacuumOptions(target_bytes=target, lock=OPTIONS.lock))
        now = snapshot(lake)
        for (since, until), wanted in expected.items():
            assert lines(now, Selection(since=since, until=until)) == wanted
    assert check(lake.store).findings == []
    assert lines(old) == expected[0, None]
    place = data.draw(st.integers(0, len(versions)))
    log_id = old.manifest.log_id
    taken = snapshot(lake)
    position.require(taken, Bookmark(log_id, place))
    purge(lake.store, KEYS, timedelta(0))
    assert lines(taken, Selection(since=place)) == expected[place, None]
    assert check(lake.store).findings == []


def test_merges_touch_only_the_segments_they_need(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 3)
    lake = new_lake()
    for number in range(60):
        land(lake, [number], "a" if number < 50 else "b")
    before = lines(snapshot(lake))
    head = log.read_head(lake.store, KEYS)
    rows = list(log.files(lake.store, KEYS, head.manifest))
    group = tuple(rows[20:26])
    merged = merge.merge_files(lake.store, KEYS, group, 1, "w")
    kept = {segment.path for segment in head.manifest.segments if segment.last_sequence < 20}
    replacement.commit_merges(lake.store, KEYS, [Replacement(merged, group)], "w", OPTIONS.lock)
    after = log.read_head(lake.store, KEYS).manifest
    assert kept <= {segment.path for segment in after.segments}
    assert lines(snapshot(lake)) == before
    for number in range(60, 90):
        land(lake, [number], "b")
    assert ids(lines(snapshot(lake))) == list(range(90))
    assert check(lake.store).of(Level.ERROR) == []


def test_segments_written_anew_wait_for_the_purge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(manifests, "FAN_OUT", 3)
    lake = new_lake()
    for number in range(40):
        land(lake, [number])
    held = snapshot(lake)
    vacuum(lake.store, KEYS, VacuumOptions(target_bytes=2000, lock=OPTIONS.lock))
    assert check(lake.store).findings == []
    check(lake.store, fix=True)
    rebuild(lake.store)
    assert ids(lines(held)) == list(range(40))
    purge(lake.store, KEYS, timedelta(0))
    assert check(lake.store).findings == []
    assert ids(lines(snapshot(lake))) == list(range(40))
    segments = [row for row in lake.store.list(KEYS.folder) if "/_segments/" in row.key]
    manifest = snapshot(lake).manifest
    assert len(segments) == len(list(log.segment_paths(lake.store, KEYS, manifest)))


def test_a_held_snapshot_stays_readable_until_the_purge() -> None:
    lake = new_lake()
    for number in range(5):
        land(lake, [number])
    held = snapshot(lake)
    vacuum(lake.store, KEYS, OPTIONS)
    assert ids(lines(held)) == list(range(5))
    assert purge(lake.store, KEYS, timedelta(days=1)) == []
    gone = purge(lake.store, KEYS, timedelta(0))
    assert len(gone) == 5
    assert ids(lines(snapshot(lake))) == list(range(5))
    assert check(lake.store).findings == []


def test_of_two_vacuums_at_once_one_wins_and_nothing_is_lost() -> None:
    lake = new_lake()
    for number in range(6):
        land(lake, [number])

    def second_first(work: object, groups: object) -> Iterator[File]:
        vacuum(lake.store, KEYS, OPTIONS)
        return map(work, groups)  # type: ignore[arg-type, call-overload, no-any-return]

    with pytest.raises(BusyError, match="another vacuum was quicker"):
        vacuum(lake.store, KEYS, OPTIONS, run=second_first)
    assert ids(lines(snapshot(lake))) == list(range(6))
    codes = {finding.code for finding in check(lake.store).findings}
    assert codes == {"orphan-merge"}
    check(lake.store, fix=True)
    assert ids(lines(snapshot(lake))) == list(range(6))
    purge(lake.store, KEYS, timedelta(0), abandoned=timedelta(0))
    assert check(lake.store).findings == []


@pytest.mark.parametrize("answer", [OutcomeUnknown, Changed])
def test_a_merge_whose_answer_was_lost_and_that_was_merged_again_is_done(
    answer: type[SingerlakeError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And a snapshot from between stays readable: it needs the segments of the first merge."""
    monkeypatch.setattr(manifests, "FAN_OUT", 2)
    lake = new_lake()
    for number in range(16):
        land(lake, [number])
    held: list[Snapshot] = []

    def meanwhile() -> None:
        """The first vacuum's lock was taken over: it is stopped, and its put was applied."""
        held.append(snapshot(lake))
        for row in lake.store.list(KEYS.folder):
            if row.key.endswith("singerlake.lock"):
                lake.store.delete(row.key)
        for number in range(16, 24):
            land(lake, [number])
        vacuum(lake.store, KEYS, OPTIONS)

    losing = LosingAnswers(lake.store, Lost(MANIFEST_REPLACE, answer, meanwhile))
    report = vacuum(losing, KEYS, VacuumOptions(target_bytes=1000, lock=OPTIONS.lock))
    assert report.merged_files == 15
    assert ids(lines(held[0])) == list(range(16))
    assert held[0].manifest.segments
    assert ids(lines(snapshot(lake))) == list(range(24))
    check(lake.store, fix=True)
    assert ids(lines(held[0])) == list(range(16))
    purge(lake.store, KEYS, timedelta(0), abandoned=timedelta(0))
    assert check(lake.store).findings == []


def test_a_writer_that_commits_meanwhile_is_kept() -> None:
    lake = new_lake()
    for number in range(4):
        land(lake, [number])

    def with_a_writer(work: object, groups: object) -> Iterator[File]:
        land(lake, [99])
        return map(work, groups)  # type: ignore[arg-type, call-overload, no-any-return]

    vacuum(lake.store, KEYS, OPTIONS, run=with_a_writer)
    assert ids(lines(snapshot(lake))) == [0, 1, 2, 3, 99]
    assert check(lake.store).findings == []


def test_a_damaged_file_is_never_merged() -> None:
    lake = new_lake()
    for number in range(3):
        land(lake, [number])
    key = KEYS.under(files(lake)[1].path)
    whole = lake.store.read(key)
    lake.store.replace(key, whole.data[:-40], whole.version)
    with pytest.raises(CorruptFile, match=key.rpartition("/")[2]):
        vacuum(lake.store, KEYS, OPTIONS)
    assert len(files(lake)) == 3


def test_gaps_other_schemas_and_large_files_end_a_group() -> None:
    def file(sequence: int, schema: str = "A", size: int = 10) -> File:
        moment = snapshot_time
        return File(
            path=f"{schema}/f{sequence}",
            sequence=sequence,
            records=1,
            bytes=size,
            raw_bytes=1,
            first=moment,
            last=moment,
            checksum="",
            committed=moment,
        )

    lake = new_lake()
    land(lake, [1])
    snapshot_time = files(lake)[0].first
    rows = [file(1), file(2), file(4), file(5, "B"), file(6, "B"), file(7, "B", 99), file(8, "B")]
    groups = list(plan(rows, VacuumOptions(target_bytes=100)))
    assert [[row.sequence for row in group] for group in groups] == [[1, 2], [5, 6]]


@pytest.mark.parametrize("purged", [False, True])
def test_a_rebuild_without_a_manifest_takes_each_line_once(purged: bool) -> None:
    lake = new_lake()
    for number in range(8):
        land(lake, [number])
    vacuum(lake.store, KEYS, OPTIONS)
    if purged:
        purge(lake.store, KEYS, timedelta(0))
    land(lake, [8])
    lake.store.delete(KEYS.manifest)
    rebuild(lake.store)
    assert ids(lines(snapshot(lake))) == list(range(9))
    assert check(lake.store).findings == []
    purge(lake.store, KEYS, timedelta(0))
    assert ids(lines(snapshot(lake))) == list(range(9))
    assert check(lake.store).findings == []


def test_a_rebuild_with_a_manifest_keeps_merges_and_bookmarks() -> None:
    lake = new_lake()
    for number in range(6):
        land(lake, [number])
    vacuum(lake.store, KEYS, OPTIONS)
    rebuild(lake.store)
    assert ids(lines(snapshot(lake), Selection(since=4))) == [4, 5]
    assert check(lake.store).findings == []


def test_a_crash_at_any_step_of_a_vacuum_loses_and_doubles_nothing() -> None:
    class Died(BaseException):
        pass

    class Dying(MemoryStore):
        """Dies before its n-th write, and answers no more."""

        left = 10**9

        def _write(self) -> None:
            type(self).left -= 1
            if self.left < 0:
                raise Died

        def create(self, key: str, data: object) -> str:
            self._write()
            return super().create(key, data)  # type: ignore[arg-type]

        def replace(self, key: str, data: bytes, version: str) -> str:
            self._write()
            return super().replace(key, data, version)

    for step in range(20):
        name = f"dying-{step}"
        lake = Lake(MemoryStore(name))
        for number in range(6):
            land(lake, [number])
        Dying.left = step
        try:
            vacuum(Dying(name), KEYS, OPTIONS)
        except Died:
            pass
        else:
            break
        assert ids(lines(snapshot(lake))) == list(range(6))
        assert {found.code for found in check(lake.store).findings} <= {
            "orphan-merge",
            "orphan-segment",
        }
        vacuum(lake.store, KEYS, OPTIONS)
        purge(lake.store, KEYS, timedelta(0), abandoned=timedelta(0))
        assert ids(lines(snapshot(lake))) == list(range(6))
        assert len(files(lake)) == 1
        check(lake.store, fix=True)
        assert check(lake.store).findings == []
    else:
        raise AssertionError("the vacuum never came to its end")


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("at", [1, 2])
def test_a_purge_that_dies_leaves_no_merge_to_be_taken_for_an_orphan(
    at: int, backwards: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It deletes side by side: whichever goes first, a merged file never outlives its document."""
    lake = new_lake()
    for number in range(2):
        land(lake, [number])
    merge.merge_files(lake.store, KEYS, files(lake), 1, "a vacuum that died")

    def in_some_order(work: Callable[[str], None], keys: list[str]) -> list[None]:
        return [work(key) for key in sorted(keys, reverse=backwards)]

    class Died(BaseException):
        pass

    class Dying(StoreWrapper):
        left = at

        def delete(self, key: str) -> None:
            self.deleted(super().delete(key))

        def delete_if(self, key: str, version: str) -> None:
            self.deleted(super().delete_if(key, version))

        def deleted(self, _: None) -> None:
            self.left -= 1
            if self.left == 0:
                raise Died

    monkeypatch.setattr("singerlake.lake.purging.in_parallel", in_some_order)
    with pytest.raises(Died):
        purge(Dying(lake.store), KEYS, timedelta(0), abandoned=timedelta(0))
    check(lake.store, fix=True)
    assert ids(lines(snapshot(lake))) == [0, 1]


def test_records_without_a_time_keep_that_of_their_file_s_name() -> None:
    """Files that other tools wrote may have such, and the merged file has both kinds."""
    lake = new_lake()
    land(lake, [10])
    [file] = snapshot(lake).files()
    schema, _ = list(snapshot(lake).lines(file))
    untimed = b'{"type":"RECORD","stream":"orders","record":{"id":1}}'
    name = "orders-20250101T000000.000000Z-20250101T000005.000000Z-0123abcd.singer"
    lake.store.create(KEYS.under(f"{file.schema_hash}/{name}"), schema + b"\n" + untimed + b"\n")
    rebuild(lake.store)
    assert check(lake.store).findings == []
    vacuum(lake.store, KEYS, VacuumOptions())
    assert check(lake.store).findings == []
    rebuild(lake.store)
    assert check(lake.store).findings == []
    [merged] = snapshot(lake).files()
    assert merged.first.year == 2025
