"""Vacuums and purges at regular times: what they leave, and what they cost over many rounds."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta, timezone

import msgspec
import pytest

from singerlake.errors import BusyError, CorruptDocument
from singerlake.format import merge as merges
from singerlake.format.manifest import File, MergeRef
from singerlake.format.merge import Merge
from singerlake.lake import Lake, check, clock, merge, rebuild, replacement
from singerlake.lake import vacuum as vacuums
from singerlake.lake.purging import GRACE, purge
from singerlake.lake.replacement import Replacement
from singerlake.lake.vacuum import VacuumOptions, plan, vacuum
from singerlake.store import Store
from tests.lake.calendar import Calendar
from tests.lake.faulty_store import MANIFEST_REPLACE, At, Intercepting, Result
from tests.lake.landing import (
    EPOCH,
    KEYS,
    PATIENT,
    STREAM,
    TAP,
    assert_clean,
    edit,
    files_in,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
)

OPTIONS = VacuumOptions(lock=PATIENT)
DAY = timedelta(days=1)


@pytest.fixture
def calendar(monkeypatch: pytest.MonkeyPatch) -> Calendar:
    return Calendar(monkeypatch)


def named(store: Store) -> set[str]:
    """The files and documents that the log names."""
    files = files_in(store)
    documents = [file.merge.path for file in files if file.merge]
    return {KEYS.under(path) for path in [*documents, *(file.path for file in files)]}


def documents(store: Store) -> dict[str, Merge]:
    """Those that the log names, by the paths of their files."""
    found = {}
    for file in files_in(store):
        told = merge.read_merge(store, KEYS, file)
        if told is not None:
            found[file.path] = told
    return found


def test_with_a_vacuum_each_day_what_was_replaced_a_week_ago_goes_and_the_rest_stays(
    calendar: Calendar,
) -> None:
    store = new_store()
    replaced: dict[str, datetime] = {}
    objects = []
    for day in range(40):
        land_each(store, range(5 * day, 5 * day + 5))
        before = named(store)
        vacuum(store, KEYS, OPTIONS)
        replaced |= dict.fromkeys(before - named(store), calendar.now())
        calendar.pass_days(0.5)
        purge(store, KEYS)
        there = set(objects_in(store))
        now = calendar.now()
        assert {key: key in there for key in replaced} == {
            key: now - since < GRACE for key, since in replaced.items()
        }
        objects.append(len(there))
        calendar.pass_days(0.5)
    assert numbers_in(store) == list(range(200))
    assert max(objects[20:]) <= max(objects[:20]) + 4  # the log itself grows: by its logarithm
    assert_clean(store)


def test_a_snapshot_lasts_for_the_whole_grace_after_a_commit_that_came_late(
    calendar: Calendar,
) -> None:
    """The merge documents are days older than the commit."""
    store = new_store()
    land_each(store, range(4))

    def slowly(
        work: Callable[[tuple[File, ...]], File], groups: Iterable[tuple[File, ...]]
    ) -> Iterator[File]:
        merged = [work(group) for group in groups]
        calendar.pass_days(3)
        return iter(merged)

    vacuum(store, KEYS, OPTIONS, run=slowly)
    calendar.pass_days(6)
    assert purge(store, KEYS) == []
    calendar.pass_days(2)
    assert len(purge(store, KEYS)) == 4
    assert_clean(store)


def test_a_purge_by_a_clock_that_is_ahead_leaves_a_merge_under_way_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = new_store()
    land_each(store, range(4))

    def beside_a_purge(
        work: Callable[[tuple[File, ...]], File], groups: Iterable[tuple[File, ...]]
    ) -> Iterator[File]:
        merged = [work(group) for group in groups]
        with monkeypatch.context() as ahead:
            ahead.setattr(clock, "now", lambda: datetime.now(timezone.utc) + 30 * DAY)
            assert purge(store, KEYS) == []
        return iter(merged)

    vacuum(store, KEYS, OPTIONS, run=beside_a_purge)
    assert len(files_in(store)) == 1
    assert numbers_in(store) == list(range(4))
    assert_clean(store)


def test_a_purge_by_a_clock_that_is_ahead_leaves_readers_their_grace(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = new_store()
    land_each(store, range(4))
    held = Lake(store).stream(TAP, STREAM).snapshot()
    vacuum(store, KEYS, OPTIONS)
    with monkeypatch.context() as ahead:
        ahead.setattr(clock, "now", lambda: datetime.now(timezone.utc) + 30 * DAY)
        assert purge(store, KEYS) == []
    assert [row["id"] for row in held.records()] == list(range(4))
    assert len(purge(store, KEYS, timedelta(0))) == 4


def test_a_vacuum_that_slept_before_its_put_does_not_commit_what_was_purged(
    calendar: Calendar,
) -> None:
    store = new_store()
    land_each(store, range(4))
    removed: list[str] = []

    def sleep() -> None:
        calendar.pass_days(8)
        removed.extend(purge(store, KEYS))

    asleep = Asleep(store, MANIFEST_REPLACE, sleep)
    with pytest.raises(BusyError, match="took so long"):
        vacuum(asleep, KEYS, OPTIONS)
    assert len(removed) == 2
    assert numbers_in(store) == list(range(4))
    assert_clean(store)


class Asleep(Intercepting):
    """Something happens right before the first request of a kind."""

    def __init__(self, inner: Store, at: At, what: Callable[[], object]) -> None:
        super().__init__(inner)
        self._at, self._what = at, [what]

    def around(self, method: str, key: str, call: Callable[[], Result]) -> Result:
        if self._what and self._at(method, key):
            self._what.pop()()
        return call()


def test_what_a_merge_of_an_earlier_version_replaced_has_the_time_of_its_document(
    calendar: Calendar, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = new_store()
    land_each(store, range(4))
    originals = [KEYS.under(file.path) for file in files_in(store)]
    with monkeypatch.context() as earlier:
        earlier.setattr(replacement, "_with_commit_time", lambda item, moment: item)
        vacuum(store, KEYS, OPTIONS)
    assert isinstance(reference := files_in(store)[0].merge, MergeRef)
    assert reference.committed is None
    calendar.pass_days(6)
    assert purge(store, KEYS) == []
    land_each(store, range(4, 8))
    vacuum(store, KEYS, OPTIONS)
    assert len(files_in(store)) == 1
    calendar.pass_days(2)
    assert purge(store, KEYS) == sorted(originals)
    assert_clean(store)


def test_a_document_forgets_what_is_gone_and_keeps_what_is_there(calendar: Calendar) -> None:
    store = new_store()
    since: dict[str, datetime] = {}
    for number in range(12):
        land_each(store, range(10 * number, 10 * number + 10))
        before = named(store)
        vacuum(store, KEYS, VacuumOptions(lock=PATIENT))
        since |= dict.fromkeys(before - named(store), calendar.now())
        if number % 4 == 3:
            purge(store, KEYS)
        there = set(objects_in(store))
        told = {KEYS.under(one.path) for one in told_by(store)}
        lately = {key for key, at in since.items() if calendar.now() - at < merge.FORGET - DAY}
        assert told >= (there & since.keys()) | (lately & since.keys())
        calendar.pass_days(5)
    assert len(told) < len(since)
    assert_clean(store)
    check(store, fix=True)
    assert rebuild(store).adopted == []
    assert numbers_in(store) == list(range(120))


def told_by(store: Store) -> list[merges.Retiree]:
    return [one for told in documents(store).values() for one in told.retired]


def test_no_file_bears_more_numbers_than_a_document_should_tell(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(vacuums, "MOST_PARTS", 10)
    store = new_store()
    for start in range(0, 72, 3):
        land_each(store, range(start, start + 3))
        vacuum(store, KEYS, OPTIONS)
    files = files_in(store)
    assert max(file.parts for file in files) <= 10
    assert len(files) <= 72 / 5 + 3
    assert all(len(told.parts) <= 10 for told in documents(store).values())
    assert numbers_in(store) == list(range(72))
    assert_clean(store)


def row(sequence: int, size: int = 300, records: int = 1) -> File:
    return File(
        path=f"abcdefg/orders-{sequence}.singer.gz",
        sequence=sequence,
        records=records,
        bytes=size,
        raw_bytes=size,
        first=EPOCH,
        last=EPOCH,
        checksum="",
        committed=EPOCH,
    )


def merged(group: Sequence[File]) -> File:
    return msgspec.structs.replace(
        group[-1],
        path=f"{group[-1].path}-{group[0].lowest_sequence}",
        first_sequence=group[0].lowest_sequence,
        records=sum(file.records for file in group),
        bytes=sum(file.bytes for file in group),
    )


def after_a_vacuum(rows: list[File]) -> tuple[list[File], int]:
    """The rows, and how many bytes were written."""
    replacements = [Replacement(merged(group), group) for group in plan(rows, OPTIONS)]
    placed = replacement.put_in_place(rows, replacements, KEYS)
    written = sum(item.merged.bytes for item in replacements)
    return [one for one in placed if isinstance(one, File)], written


def test_each_byte_is_written_a_few_times_not_with_every_vacuum() -> None:
    """60 rounds of 100 files of equal size: each byte is written 4.6 times on average, where
    merging everything each time writes it 30.5 times; 3 files are left."""
    rows: list[File] = []
    written = 0
    for start in range(1, 6_001, 100):
        rows += [row(sequence) for sequence in range(start, start + 100)]
        rows, more = after_a_vacuum(rows)
        written += more
        assert len(rows) <= 7
    assert written / (6_000 * 300) < 6


@pytest.mark.parametrize(
    ("sizes", "groups"),
    [
        ([1, 1], [[1, 2]]),
        ([3, 4], [[1, 2]]),
        ([100, 1, 1, 1], [[2, 3, 4]]),
        ([1, 1, 100, 1, 1], [[1, 2], [4, 5]]),
        ([100, 30, 1], []),
        ([100, 30, 10, 10], [[1, 2, 3, 4]]),
        ([1, 3, 1, 3], [[1, 2, 3, 4]]),
        ([0, 0, 0], [[1, 2, 3]]),
    ],
)
def test_a_file_waits_until_others_have_grown_to_its_size(
    sizes: list[int], groups: list[list[int]]
) -> None:
    rows = [row(number, records=size) for number, size in enumerate(sizes, start=1)]
    assert [[file.sequence for file in group] for group in plan(rows, OPTIONS)] == groups


def test_files_that_each_outweigh_all_before_cannot_exhaust_the_stack() -> None:
    """Each is looked at one call deeper: the largest count that a row may have bounds them."""
    outweighing = [3**power for power in range(1_500)]
    rows = [row(number, records=size) for number, size in enumerate(outweighing, start=1)]
    allowed = [file for file in rows if file.records <= 2**53]
    assert list(plan(allowed, OPTIONS)) == []
    store = new_store()
    land(store, [1])
    edit(store, KEYS.manifest, lambda body: body.update(files=msgspec.to_builtins(rows)))
    with pytest.raises(CorruptDocument, match=r"manifest\.json: .*records"):
        vacuum(store, KEYS, OPTIONS, dry_run=True)


def test_plans_and_commits_of_many_files_take_a_time_that_grows_like_their_number() -> None:
    """On two busy cores 0.4 s together; the time was quadratic, and took minutes."""
    tiny = [row(sequence) for sequence in range(1, 100_001)]
    large = [row(sequence, 16 * 1024**2, 1000) for sequence in range(1, 100_001)]
    began = time.process_time()
    assert len(list(plan(tiny, OPTIONS))) == 10
    rows, _ = after_a_vacuum(large)
    assert len(rows) == 12_500
    assert time.process_time() - began < 5
