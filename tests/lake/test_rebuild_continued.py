"""Rebuild where the manifest is lost, and its copy is not: what is proven keeps its numbers."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest

from singerlake.errors import StaleBookmark
from singerlake.lake import Lake, check, known_order, log, manifest_copy, rebuild
from singerlake.lake.feed.event import Committed, Event, Lost, Renumbered, Replaced
from singerlake.lake.known_order import Known
from singerlake.lake.purging import purge
from singerlake.lake.vacuum import VacuumOptions, vacuum
from singerlake.store import Counting, MemoryStore, Store
from tests.lake.feed.clockwork import Following
from tests.lake.landing import (
    KEYS,
    PATIENT,
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    codes,
    files_in,
    land_each,
    new_store,
    numbers_in,
    overwrite,
)

pytestmark = pytest.mark.usefixtures("small_segments")


@pytest.fixture
def store() -> MemoryStore:
    """Ten commits, of which the copy has nine; times that run against their order."""
    store = new_store()
    land_each(store, range(20, 10, -1))
    return store


ALL = list(range(20, 10, -1))


def by_number(store: Store) -> dict[int, str]:
    commits = Lake(store).stream(TAP, STREAM).snapshot().commits()
    return {file.sequence: file.checksum for file in commits}


def read_up_to(store: Store, last: int) -> Following:
    """A consumer that has read so far and no further."""
    consumer = Following(store)
    increment = Lake(store).stream(TAP, STREAM).increment().up_to(last)
    events = list(increment.events())
    from singerlake.lake.feed.cursor import Cursor

    consumer.kept = Cursor({(TAP, STREAM): events[-1].bookmark})
    consumer.start()
    return consumer


def numbers(events: list[Event]) -> list[int]:
    return [event.last_sequence for event in events if isinstance(event, Committed)]


def lose(store: Store, how: str) -> None:
    if how == "deleted":
        store.delete(KEYS.manifest)
    elif how == "torn":
        overwrite(store, KEYS.manifest, store.read(KEYS.manifest).data[:100])
    else:
        [segment, *_] = log.read_head(store, KEYS).manifest.segments[-1:]
        store.delete(KEYS.under(segment.path))


def require_continued(store: Store, up_to: int) -> None:
    """Consumers at each place of a log that is lost, across its mending."""
    last = len(ALL)
    before = by_number(store)
    consumers = {place: read_up_to(store, place) for place in range(1, last + 1)}
    old = log.read_head(store, KEYS).manifest.log_id
    store.delete(KEYS.manifest)
    report = rebuild(store)
    assert report.continued == [f"{KEYS.folder} up to {up_to}"]
    assert report.renumbered == []
    manifest = log.read_head(store, KEYS).manifest
    assert manifest.log_id != old
    assert {number: by_number(store)[number] for number in range(1, up_to + 1)} == {
        number: before[number] for number in range(1, up_to + 1)
    }
    assert sorted(numbers_in(store)) == sorted(ALL)
    for place, consumer in consumers.items():
        events = consumer.poll()
        assert not any(isinstance(event, Lost) for event in events)
        if place <= up_to:
            assert numbers(events) == list(range(place + 1, last + 1)), place
        else:
            assert isinstance(events[0], Renumbered)
            assert numbers(events) == list(range(1, last + 1))
    assert_clean(store)


def test_what_the_copy_has_keeps_its_numbers(store: MemoryStore) -> None:
    require_continued(store, 9)


@pytest.mark.parametrize("how", ["deleted", "torn", "segment"])
def test_however_the_manifest_is_lost(store: MemoryStore, how: str) -> None:
    before = by_number(store)
    lose(store, how)
    assert set(codes(check(store, times=QUICK))) <= {"manifest-missing", "manifest-corrupt"}
    [continued] = rebuild(store).continued
    last = int(continued.rpartition(" ")[2])
    assert last == (9 if how != "segment" else 4)
    assert {n: by_number(store)[n] for n in range(1, last + 1)} == {
        n: before[n] for n in range(1, last + 1)
    }
    assert sorted(numbers_in(store)) == sorted(ALL)
    assert_clean(store)


def test_check_fix_does_the_same(store: MemoryStore) -> None:
    store.delete(KEYS.manifest)
    report = check(store, fix=True, times=QUICK)
    assert f"began a new log for {KEYS.folder} up to 9" in report.fixed
    assert_clean(store)
    land_each(store, [1])
    assert numbers_in(store) == [*ALL, 1]


def test_twice(store: MemoryStore) -> None:
    """A log that was begun anew twice still takes the bookmarks of the first."""
    first = read_up_to(store, 5)
    for _ in range(2):
        store.delete(KEYS.manifest)
        rebuild(store)
        land_each(store, [1])
    assert numbers(first.poll()) == list(range(6, 13))
    assert len(log.read_head(store, KEYS).manifest.continues) == 2


def test_a_file_that_is_gone_is_a_gap_and_what_comes_behind_stays(store: MemoryStore) -> None:
    consumers = {place: read_up_to(store, place) for place in (2, 4)}
    store.delete(KEYS.under(files_in(store)[2].path))
    store.delete(KEYS.manifest)
    assert rebuild(store).continued == [f"{KEYS.folder} up to 9"]
    for place, events in ((place, consumer.poll()) for place, consumer in consumers.items()):
        assert [type(event) for event in events if not isinstance(event, Committed)] == [Lost]
        assert numbers(events) == [n for n in range(place + 1, 11) if n != 3]


def test_a_vacuum_behind_the_copy_whose_sources_are_purged(store: MemoryStore) -> None:
    """The copy names files that a merge stands for: it has the same numbers, and nobody notices."""
    older, sources = store.read(KEYS.manifest_copy).data, files_in(store)
    consumers = {place: read_up_to(store, place) for place in (3, 9)}
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT, target_bytes=1500))
    overwrite(store, KEYS.manifest_copy, older)
    for file in sources:
        store.delete(KEYS.under(file.path))
    store.delete(KEYS.manifest)
    rebuild(store)
    assert sorted(numbers_in(store)) == sorted(ALL)
    for place, consumer in consumers.items():
        events = consumer.poll()
        assert not any(isinstance(event, Lost | Renumbered) for event in events)
        assert numbers(events) == list(range(place + 1, 11))
    assert_clean(store)


def test_a_vacuum_that_died_before_its_copy_and_a_purge(store: MemoryStore) -> None:
    older = store.read(KEYS.manifest_copy).data
    consumer = read_up_to(store, 10)
    vacuum(store, KEYS, VacuumOptions(lock=PATIENT, target_bytes=1500))
    overwrite(store, KEYS.manifest_copy, older)
    purge(store, KEYS, timedelta(0), abandoned=timedelta(0))
    store.delete(KEYS.manifest)
    assert rebuild(store).continued == [f"{KEYS.folder} up to 10"]
    assert {type(event) for event in consumer.poll()} == {Replaced}
    assert_clean(store)


def test_each_file_is_read_once(store: MemoryStore) -> None:
    counted = Counting(store)
    store.delete(KEYS.manifest)
    opened: list[str] = []
    plain = counted.open

    def opening(key: str, size: int | None = None) -> object:
        opened.append(key)
        return plain(key, size)

    counted.open = opening  # type: ignore[method-assign,assignment]
    rebuild(counted)
    files = [key for key in opened if ".singer" in key]
    assert len(files) == len(set(files)) == len(ALL)


def test_without_a_copy_all_is_numbered_anew(store: MemoryStore) -> None:
    store.delete(KEYS.manifest_copy)
    consumer = read_up_to(store, 2)
    place = consumer.kept.bookmarks[TAP, STREAM]
    store.delete(KEYS.manifest)
    report = rebuild(store)
    assert report.renumbered == [KEYS.folder]
    assert log.read_head(store, KEYS).manifest.continues == ()
    with pytest.raises(StaleBookmark):
        Lake(store).stream(TAP, STREAM).increment(place)
    assert manifest_copy.read(store, KEYS) == log.read_head(store, KEYS).manifest


def test_a_rebuild_that_claims_more_than_is_proven_is_noticed(
    store: MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A control: nothing says what number 10 stood for."""
    find = known_order.find

    def claiming(*given: object, **others: object) -> Known:
        known = find(*given, **others)  # type: ignore[arg-type]
        assert known.manifest is not None
        last = known.manifest.last_sequence
        row = msgspec.structs.replace(known.files[-1], sequence=last + 1, path="other")
        manifest = msgspec.structs.replace(known.manifest, last_sequence=last + 1)
        return Known(manifest, (*known.files, row), known.version, last + 1)

    monkeypatch.setattr(known_order, "find", claiming)
    with pytest.raises(AssertionError):
        require_continued(store, 9)
