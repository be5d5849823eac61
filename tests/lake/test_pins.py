"""Pins: a state that stays, whatever happens to the lake, or an error that names the pin."""

from __future__ import annotations

import threading
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from singerlake.errors import (
    AlreadyExists,
    BadName,
    ConfigError,
    CorruptDocument,
    MissingFile,
    MissingManifest,
    OutcomeUnknown,
    Pinned,
    StaleBookmark,
    UnsupportedFormat,
)
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys
from singerlake.format.pin import Pin
from singerlake.lake import Lake, check, clock, pins, rebuild, replication
from singerlake.lake.extent import AsOf, Extent, covered
from singerlake.lake.feed.event import Event, Replaced, RunEnded
from singerlake.lake.snapshot import Snapshot
from singerlake.lake.vacuum import vacuum
from singerlake.store import Counting, LocalStore, Store, open_store
from tests.format.made import ODD_NAMES
from tests.lake.faulty_store import At, LosingAnswers, Lost
from tests.lake.landing import (
    KEYS,
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    codes,
    copy_of,
    edit,
    land,
    land_each,
    new_store,
    overwrite,
    paths_in,
    put_orphan,
)
from tests.lake.merging import OPTIONS, purge_at_once
from tests.lake.running import Running, land_run
from tests.servers import S3Server

PIN = key_names.pin("p")


def read(store: Store, as_of: AsOf, stream: str = STREAM, runs: str = "all") -> list[int]:
    snapshot = Lake(store).stream(TAP, stream).snapshot()
    extent = Extent(runs, as_of)  # type: ignore[arg-type]
    return [row["id"] for row in snapshot.records(covered(snapshot, extent).selection)]


@pytest.fixture
def store() -> Store:
    """Two streams with some commits, under the pin `p`, and then more commits."""
    made = new_store()
    land_each(made, range(4))
    land(made, [10, 11], "customers")
    Lake(made).pin("p", by="me")
    land_each(made, range(4, 8))
    land(made, [12], "customers")
    return made


def test_a_pin_is_read_listed_and_forgotten(store: Store) -> None:
    assert read(store, "p") == read(store, "pin:p") == [0, 1, 2, 3]
    assert read(store, "p", "customers") == [10, 11]
    (pin,) = Lake(store).pins()
    assert (pin.name, pin.by, pin.until) == ("p", "me", None)
    manifest = Lake(store).stream(TAP, STREAM).snapshot().manifest
    place = pin.taps[TAP][STREAM]
    assert (place.log_id, place.sequence, len(place.check)) == (manifest.log_id, 4, 8)
    assert pins.cursor(pin).bookmarks[TAP, STREAM].sequence == 4
    assert_clean(store)
    Lake(store).unpin("p")
    assert Lake(store).pins() == []
    with pytest.raises(ConfigError, match="no run 'p', and the lake has no pin 'p'"):
        read(store, "p")
    with pytest.raises(ConfigError, match="no pin 'p'"):
        read(store, "pin:p")
    with pytest.raises(ConfigError, match="no pin 'p'"):
        Lake(store).unpin("p")


def test_a_pin_is_the_start_of_a_feed(store: Store) -> None:
    (pin,) = Lake(store).pins()
    events = list(Lake(store).feed(pins.cursor(pin)).poll())
    assert sorted((event.stream, event.bookmark.sequence) for event in events) == [
        ("customers", 2),
        *((STREAM, number) for number in range(5, 9)),
    ]


def test_a_feed_from_a_pin_reports_the_ends_of_later_runs_alone(store: Store) -> None:
    land_run(store, "r-1")
    Lake(store).pin("q")
    land_run(store, "r-2")
    (pin,) = (one for one in Lake(store).pins() if one.name == "q")
    events = list(Lake(store).feed(pins.cursor(pin)).poll())
    assert [event.run_id for event in events if isinstance(event, RunEnded)] == ["r-2"]


def test_a_feed_from_a_pin_reports_what_was_replaced_since(store: Store) -> None:
    vacuum(store, KEYS, OPTIONS)
    Lake(store).pin("q")
    pins_by_name = {one.name: one for one in Lake(store).pins()}
    assert not any(replaced(store, pins_by_name["q"]))
    assert any(replaced(store, pins_by_name["p"]))


def replaced(store: Store, pin: Pin) -> list[Event]:
    events = Lake(store).feed(pins.cursor(pin)).poll()
    return [event for event in events if isinstance(event, Replaced) and event.stream == STREAM]


def tidied(store: Store) -> None:
    vacuum(store, KEYS, OPTIONS)
    purge_at_once(store)


def test_it_stays_through_vacuum_purge_and_rebuild(store: Store) -> None:
    tidied(store)
    assert len(paths_in(store)) == 1, "a merged file across the pin"
    assert read(store, "p") == [0, 1, 2, 3]
    rebuild(store)
    land_each(store, range(20, 30))
    tidied(store)
    assert read(store, "p") == [0, 1, 2, 3]
    assert_clean(store)


def test_a_name_is_taken_once(store: Store) -> None:
    before = store.read(PIN)
    with pytest.raises(ConfigError, match=r"there is a pin 'p' already.*unpin"):
        Lake(store).pin("p")
    assert store.read(PIN) == before


@pytest.fixture(params=["memory", "local", "seaweedfs"])
def raced(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    if request.param == "memory":
        return new_store()
    if request.param == "local":
        return LocalStore(tmp_path)
    server: S3Server = request.getfixturevalue("seaweedfs")
    return open_store(f"s3://{server.new_bucket()}/lake", server.storage_options())


def test_of_many_who_pin_at_once_one_wins(raced: Store) -> None:
    store = raced
    land(store, [1])
    barrier, won, refused = threading.Barrier(8), [], []

    def attempt(number: int) -> None:
        barrier.wait()
        try:
            won.append(pins.create(store, "raced", by=str(number)))
        except ConfigError as error:
            refused.append(error)

    threads = [threading.Thread(target=attempt, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(won), len(refused)) == (1, 7)
    assert pins.read(store, "raced") == won[0]


@pytest.mark.parametrize("answer", [AlreadyExists, OutcomeUnknown])
def test_a_lost_answer_is_no_refusal(store: Store, answer: type[AlreadyExists]) -> None:
    forgetful = LosingAnswers(store, Lost(At("create", containing="_pins"), answer))
    made = pins.create(forgetful, "q")
    assert pins.read(store, "q") == made


@pytest.mark.parametrize("name", [*ODD_NAMES, "pin:p", "run:p", "12", "2026-11-16"])
def test_any_name_can_be_a_pins(name: str, tmp_path: Path) -> None:
    for store in (new_store(), LocalStore(tmp_path)):
        land(store, [1])
        Lake(store).pin(name)
        land(store, [2])
        assert read(store, f"pin:{name}") == [1]
        assert pins.names(store) == [name]
        assert_clean(store)
        Lake(store).unpin(name)
        assert pins.names(store) == []


@pytest.mark.parametrize("name", ["", "x" * 181])
def test_a_name_that_no_path_holds_is_refused(store: Store, name: str) -> None:
    with pytest.raises(BadName):
        Lake(store).pin(name)
    with pytest.raises(ConfigError, match="no pin"):
        Lake(store).unpin(name)
    with pytest.raises(ConfigError, match="no pin"):
        read(store, f"pin:{name}")


def test_a_pin_comes_before_a_run_of_the_same_name() -> None:
    store = new_store()
    land_run(store, "x", [1], [2])
    Lake(store).pin("p")
    land_run(store, "p", [3])
    land_run(store, "y", [4])
    assert read(store, "p") == [1, 2]
    assert read(store, "run:p") == [1, 2, 3]
    assert read(store, "y") == [1, 2, 3, 4]


def test_a_stream_that_came_later_is_empty(store: Store) -> None:
    land(store, [1], "later")
    assert read(store, "p", "later") == []


def test_a_stream_without_commits_is_not_in_the_pin_and_empty() -> None:
    store = new_store()
    land(store, [1])
    land(store, [], "empty")
    assert list(Lake(store).pin("p").taps[TAP]) == [STREAM]
    land(store, [2], "empty")
    assert read(store, "p", "empty") == []


def test_a_stream_that_cannot_be_read_is_not_pinned(store: Store) -> None:
    for damage, error in (
        (lambda: store.delete(KEYS.manifest), MissingManifest),
        (lambda: store.create(KEYS.manifest, b"{}"), CorruptDocument),
    ):
        damage()
        with pytest.raises(error, match="singerlake rebuild"):
            Lake(store).pin("q")
        assert pins.names(store) == ["p"]


def test_numbers_of_another_log_are_not_the_pins(store: Store) -> None:
    store.delete(KEYS.manifest)
    with pytest.raises(MissingManifest, match="rebuild"):
        read(store, "p")
    report = rebuild(store)
    assert report.unpinned == [f"p in {KEYS.folder}"]
    with pytest.raises(StaleBookmark, match=r"pin 'p': .*another log.*singerlake unpin"):
        read(store, "p")
    assert read(store, "p", "customers") == [10, 11]
    found = check(store, times=QUICK)
    assert codes(found) == ["pin-stale"]
    assert "pin 'p'" in found.findings[0].message
    Lake(store).unpin("p")
    assert_clean(store)


def test_an_older_manifest_that_was_put_back_is_noticed(store: Store) -> None:
    older = store.read(KEYS.manifest).data
    land_each(store, range(20, 24))
    Lake(store).pin("late")
    overwrite(store, KEYS.manifest, older)
    with pytest.raises(StaleBookmark, match=r"pin 'late': .*older than the bookmark"):
        read(store, "late")
    land_each(store, range(30, 40))
    with pytest.raises(StaleBookmark, match=r"pin 'late': .*an older manifest was put back"):
        read(store, "late")
    assert read(store, "p") == [0, 1, 2, 3]


def test_what_was_lost_since_is_said(store: Store) -> None:
    store.delete(KEYS.under(paths_in(store)[1]))
    assert rebuild(store).unpinned == [f"p in {KEYS.folder}"]
    with pytest.raises(MissingFile, match=r"pin 'p': .*1 of its files"):
        read(store, "p")
    assert read(store, 4) == [0, 2, 3]
    assert codes(check(store, times=QUICK)) == ["pin-stale"]
    Lake(store).pin("q")
    assert read(store, "q") == [0, 2, 3, 4, 5, 6, 7], "it was lost before"
    store.delete(KEYS.under(paths_in(store)[-1]))
    rebuild(store)
    land(store, [50])
    with pytest.raises(MissingFile, match="pin 'q'"):
        read(store, "q")


def test_a_damaged_pin_is_named_and_stops_only_those_who_need_it(store: Store) -> None:
    Lake(store).pin("whole")
    edit(store, PIN, lambda body: body.update(taps=[]))
    with pytest.raises(CorruptDocument, match="singerlake unpin"):
        read(store, "p")
    with pytest.raises(CorruptDocument, match=PIN):
        Lake(store).pins()
    with pytest.raises(CorruptDocument):
        pins.require_unpinned(Lake(store).stream(TAP, STREAM).snapshot(), 1, 1)
    assert read(store, "whole") == list(range(8))
    assert codes(check(store, times=QUICK)) == ["pin-corrupt"]
    tidied(store)
    store.delete(KEYS.manifest)
    store.delete(KEYS.manifest_copy)
    assert rebuild(store).unpinned == [f"whole in {KEYS.folder}"]
    Lake(store).unpin("p")
    Lake(store).unpin("whole")
    assert_clean(store)


def test_a_pin_under_another_name_is_damaged(store: Store) -> None:
    store.create(key_names.pin("moved"), store.read(PIN).data)
    with pytest.raises(CorruptDocument, match="expected the pin 'moved', found 'p'"):
        read(store, "moved")


def test_a_pin_of_a_newer_format_stops_who_would_change_the_lake(store: Store) -> None:
    edit(store, PIN, lambda body: body.update(format_version=99))
    for work in (rebuild, check):
        with pytest.raises(UnsupportedFormat):
            work(store)
    with pytest.raises(UnsupportedFormat):
        rebuild(store, TAP, STREAM)


def test_no_folder_of_pins_is_a_tap(store: Store) -> None:
    with Lake(store).writer("_pins") as writer:
        writer.write(b'{"type": "SCHEMA", "stream": "s", "schema": {}}')
        writer.write(b'{"type": "RECORD", "stream": "s", "record": {}}')
    store.create("raw/_pins/notes.txt", b"")
    assert sorted(finding.code for finding in check(store, times=QUICK).findings) == [
        "foreign-object"
    ]
    store.delete(key_names.LAKE_DOCUMENT)
    assert [tap.tap_id for tap in Lake(store).taps()] == ["_pins", TAP]
    rebuild(store)
    assert [tap.tap_id for tap in Lake(store).taps()] == ["_pins", TAP]
    assert read(store, "p") == [0, 1, 2, 3]


def test_a_pin_holds_until_its_time_and_can_be_read_after_it(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = clock.now()
    with pytest.raises(ConfigError, match="which has passed"):
        Lake(store).pin("q", until=now)
    Lake(store).pin("q", until=now + timedelta(hours=1))
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()
    with pytest.raises(Pinned, match=r"'q' reads the sequence numbers 5 to 8 .*wait until"):
        pins.require_unpinned(snapshot, 5, 9)
    monkeypatch.setattr(clock, "now", lambda: now + timedelta(hours=2))
    pins.require_unpinned(snapshot, 5, 9)
    assert read(store, "q") == list(range(8))
    store.delete(KEYS.manifest)
    assert rebuild(store).unpinned == [f"p in {KEYS.folder}"]


def test_whoever_deletes_records_is_refused_what_a_pin_reads(store: Store) -> None:
    snapshot = Lake(store).stream(TAP, STREAM).snapshot()

    def refused(*numbers: int, stream: str = STREAM, log: str = snapshot.log_id) -> str:
        manifest = msgspec.structs.replace(snapshot.manifest, log_id=log)
        try:
            pins.require_unpinned(Snapshot(store, StreamKeys(TAP, stream), manifest), *numbers)
        except Pinned as error:
            return str(error)
        return ""

    assert "the pin 'p' reads the sequence numbers 1 to 1 of stream 'orders'" in refused(1, 1)
    assert "numbers 4 to 4" in refused(4, 9)
    assert refused(5, 9) == ""
    assert refused(1, 9, stream="later") == ""
    assert refused(1, 9, log="another") == "", "what was pinned is not there any more"
    Lake(store).unpin("p")
    assert refused(1, 9) == ""


def last(store: Store) -> list[int]:
    return read(store, "p", runs="last")


def test_a_run_that_was_open_is_named_and_does_not_count_once_it_has_ended() -> None:
    store = new_store()
    land_run(store, "first", [1, 2])
    running = Running(store, "second")
    running.commit([3])
    pin = Lake(store).pin("p")
    assert [(run.run_id, run.outcome) for run in pin.runs] == [("second", "open")]
    assert last(store) == [1, 2]
    running.end()
    assert read(store, 2, runs="last") == [3], "it has committed no more"
    assert last(store) == [1, 2]
    land_run(store, "third", [4])
    assert last(store) == [1, 2]


def test_an_open_run_is_named_that_committed_before_the_first_that_ended() -> None:
    store = new_store()
    running = Running(store, "long")
    running.commit([1, 2])
    land_run(store, "short", [3])
    pin = Lake(store).pin("p")
    assert [run.run_id for run in pin.runs] == ["long"]
    assert last(store) == [3]
    running.end()
    assert read(store, 2, runs="last") == [1, 2]
    assert last(store) == [3]


def test_an_empty_run_that_ended_later_does_not_count() -> None:
    store = new_store()
    land_run(store, "first", [1, 2])
    Lake(store).pin("p")
    land_run(store, "empty")
    assert read(store, 1, runs="last") == [1, 2]
    assert last(store) == [1, 2]


def test_what_is_current_is_decided_by_what_was_known() -> None:
    made = new_store()
    land_run(made, "a", [1])
    land_run(made, "b", [2])
    Lake(made).pin("p")
    snapshot = Lake(made).stream(TAP, STREAM).snapshot()
    before = replication.current(snapshot, Extent(as_of="p"))
    running = Running(made, "c")
    running.commit([99])
    running.end(bookmark=False)
    snapshot = Lake(made).stream(TAP, STREAM).snapshot()
    now = replication.current(snapshot, Extent())
    assert now.run is not None, "it is known to be a full table now"
    assert replication.current(snapshot, Extent(as_of="p")) == before
    assert before.run is None


def test_an_orphan_that_is_adopted_later_is_not_in_the_pin(store: Store) -> None:
    put_orphan(store, 99)
    check(store, fix=True, times=QUICK)
    assert 99 in read(store, 9)
    assert read(store, "p") == [0, 1, 2, 3]


def test_a_pin_is_the_same_in_a_copy_of_the_lake(store: Store) -> None:
    assert read(copy_of(store), "p") == [0, 1, 2, 3]


def test_a_read_as_of_a_pin_costs_one_request_more(store: Store) -> None:
    counting = Counting(store)
    snapshot = Lake(counting).stream(TAP, STREAM).snapshot()
    counting.reset()
    covered(snapshot, Extent(as_of="p"))
    assert dict(counting.counts) == {"read": 1}
