"""What a lake knows to exist: markers move forward with runs, and what lacks of them is seen."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from singerlake import check, rebuild
from singerlake.errors import Changed, MissingCommits, StaleBookmark, Unavailable
from singerlake.format import catalogue, marker
from singerlake.format import keys as key_names
from singerlake.format.catalogue import Entry
from singerlake.format.keys import StreamKeys
from singerlake.format.marker import Marker
from singerlake.format.schema import Schema
from singerlake.lake import Lake, log, manifest_copy, markers, open_on, registry
from singerlake.lake.writer import Writer
from singerlake.store import Counting, MemoryStore, Store
from tests.lake.faulty_store import CATALOGUE_REPLACE, Intercepting
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    assert_clean,
    files_in,
    land,
    new_store,
    options,
    overwrite,
    record_line,
    schema_line,
)

CATALOGUE_KEY = key_names.catalogue(TAP)
OTHER = StreamKeys(TAP, "others")


def run(store: Store, *numbers: int, stream: str = STREAM) -> None:
    """A run with a commit for each record, and a document."""
    with writer_of(store) as writer:
        commit(writer, *numbers, stream=stream)
    writer.end("complete")


def writer_of(store: Store) -> Writer:
    return open_on(store, create=True).writer(TAP, options=options())


def commit(writer: Writer, *numbers: int, stream: str = STREAM) -> None:
    writer.write(schema_line(stream))
    for number in numbers:
        writer.write(record_line(number, stream))
        writer.commit()


def entry(store: Store, stream: str = STREAM) -> Entry:
    entries = registry.read_catalogue(store, TAP)
    assert entries is not None
    return entries[stream]


def marked(store: Store, stream: str = STREAM) -> Marker | None:
    return marker.of(entry(store, stream))


def end_of(store: Store, stream: str = STREAM) -> Marker | None:
    return markers.of_manifest(log.read_head(store, StreamKeys(TAP, stream)).manifest)


def codes(store: Store, tap: str | None = None, stream: str | None = None) -> list[str]:
    return [finding.code for finding in check(store, tap, stream).findings]


def delete(store: Store, folder: str) -> None:
    for row in list(store.list(folder)):
        store.delete(row.key)


@pytest.fixture
def store() -> MemoryStore:
    return new_store()


def test_a_marker_is_where_the_run_ended(store: MemoryStore) -> None:
    run(store, 1, 2, 3)
    assert marked(store) == end_of(store)
    assert end_of(store) is not None
    run(store, 4)
    assert marked(store) == end_of(store)
    assert_clean(store)


def test_a_run_that_dies_leaves_the_marker_where_it_was(store: MemoryStore) -> None:
    run(store, 1)
    before = marked(store)
    land(store, [2])
    assert marked(store) == before != end_of(store)
    assert_clean(store)


def test_a_run_without_commits_writes_no_marker(store: MemoryStore) -> None:
    run(store)
    assert marked(store) is None
    assert not Lake(store).annotations()[TAP].get("landed")
    assert_clean(store)


def test_a_new_schema_keeps_the_marker(store: MemoryStore) -> None:
    run(store, 1)
    with writer_of(store) as writer:
        writer.write(schema_line(version=2))
        writer.commit()
    assert marked(store) == end_of(store)


def test_one_put_for_each_run_with_commits(store: MemoryStore) -> None:
    run(store, 1)
    counting = Counting(store)
    writer = writer_of(counting)
    commit(writer, 2)
    with writer:
        pass
    without = Without(store)
    counting.reset()
    writer.end("complete")
    assert writing(counting.counts) == {"create": 1, "replace": 2, "read": 1, "list": 1}
    with writer_of(without) as other:
        commit(other, 3)
    other.end("complete")
    assert without.asked == ["replace"], "no GET of the catalogue, and one PUT"


class Without(Intercepting):
    """Notes what is asked of the catalogue when the runs have been written."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self.asked: list[str] = []

    def around(self, method: str, key: str, call: Callable[[], Any]) -> Any:
        if "/_runs/" in key:
            self.asked.clear()
        elif key == CATALOGUE_KEY:
            self.asked.append(method)
        return call()


def writing(counts: Any) -> dict[str, int]:
    return {name: count for name, count in counts.items() if name != "promise"}


class Failing(Intercepting):
    """Refuses to replace the catalogue."""

    def __init__(self, inner: Store, error: Exception) -> None:
        super().__init__(inner)
        self.error, self.tries = error, 0

    def around(self, method: str, key: str, call: Callable[[], Any]) -> Any:
        if CATALOGUE_REPLACE(method, key):
            self.tries += 1
            raise self.error
        return call()


@pytest.mark.parametrize(
    ("error", "says"), [(Changed("another was quicker"), ""), (Unavailable("503"), "503")]
)
def test_a_marker_that_cannot_be_moved_fails_no_run(
    store: MemoryStore, error: Exception, says: str, caplog: pytest.LogCaptureFixture
) -> None:
    run(store, 1)
    before = marked(store)
    failing = Failing(store, error)
    run(failing, 2)
    assert failing.tries == (markers.TRIES if isinstance(error, Changed) else 1)
    assert marked(store) == before
    assert bool(caplog.records) == bool(says)
    assert says in caplog.text
    assert_clean(store)
    run(store, 3)
    assert marked(store) == end_of(store)


def test_two_runs_at_once_lose_no_marker(store: MemoryStore) -> None:
    one, two = writer_of(store), writer_of(store)
    commit(one, 1)
    commit(two, 1, stream="others")
    for writer in (one, two):
        writer.close()
        writer.end("complete")
    assert (marked(store), marked(store, "others")) == (end_of(store), end_of(store, "others"))


def test_a_slower_run_moves_no_marker_back(store: MemoryStore) -> None:
    slow = writer_of(store)
    commit(slow, 1)
    run(store, 2)
    slow.close()
    slow.end("complete")
    assert marked(store) == end_of(store)


@pytest.mark.parametrize("has_copy", [True, False])
def test_a_log_that_is_begun_anew_under_the_first_run(store: MemoryStore, has_copy: bool) -> None:
    """Nobody settles a marker that is not there yet: the run names the log that goes on from its
    own, and none where the log is another."""
    writer = writer_of(store)
    commit(writer, 1)
    if has_copy:
        manifest_copy.keep(store, KEYS, log.read_head(store, KEYS).manifest)
    store.delete(KEYS.manifest)
    rebuild(store)
    writer.close()
    writer.end("complete")
    assert marked(store) == (end_of(store) if has_copy else None)
    assert_clean(store)
    run(store, 2)
    assert marked(store) == end_of(store)


def test_what_vanishes_under_the_first_run_is_known(store: MemoryStore) -> None:
    writer = writer_of(store)
    commit(writer, 1)
    writer.close()
    delete(store, KEYS.folder)
    writer.end("complete")
    assert codes(store) == ["stream-missing"]


def test_a_stream_that_has_vanished(store: MemoryStore) -> None:
    run(store, 1, 2)
    run(store, 1, stream="others")
    delete(store, KEYS.folder)
    assert codes(store) == codes(store, TAP) == codes(store, TAP, STREAM) == ["stream-missing"]
    assert codes(store, TAP, "others") == []
    with pytest.raises(MissingCommits, match=r"orders: the catalogue knows of commits up to .* 2"):
        Lake(store).stream(TAP, STREAM).snapshot()


def test_a_stream_that_has_vanished_stays_so_when_a_run_begins_it_anew(store: MemoryStore) -> None:
    run(store, 1, 2)
    delete(store, KEYS.folder)
    run(store, 3)
    assert codes(store) == ["log-shorter"]
    run(store, 4, 5, 6)
    assert codes(store) == ["log-shorter"], "another log, however long, is not the one that is gone"


def test_a_tap_that_has_vanished(store: MemoryStore) -> None:
    run(store, 1)
    land(store, [1], stream="others")
    delete(store, key_names.tap_folder(TAP))
    assert codes(store) == codes(store, TAP) == ["tap-missing"]
    for read in (Lake(store).tap(TAP).streams, Lake(store).stream(TAP, STREAM).snapshot):
        with pytest.raises(MissingCommits, match="knows of commits of this tap"):
            read()


def test_a_tap_of_which_only_its_runs_are_left(store: MemoryStore) -> None:
    run(store, 1)
    delete(store, KEYS.folder)
    store.delete(CATALOGUE_KEY)
    assert codes(store) == ["tap-missing"]


def test_a_tap_that_has_vanished_stays_so_when_a_run_begins_it_anew(store: MemoryStore) -> None:
    run(store, 1)
    delete(store, key_names.tap_folder(TAP))
    run(store, 2)
    run(store, 3)
    assert codes(store) == ["tap-missing"]
    report = rebuild(store)
    assert [line.partition(": ")[0] for line in report.missing] == [CATALOGUE_KEY]
    assert_clean(store)
    delete(store, key_names.tap_folder(TAP))
    assert codes(store) == ["tap-missing"]


def test_an_older_manifest_is_an_error_and_nothing_is_committed_to_it(store: MemoryStore) -> None:
    run(store, 1)
    before = store.read(KEYS.manifest).data
    run(store, 2, 3)
    overwrite(store, KEYS.manifest, before)
    assert "log-shorter" in codes(store, TAP, STREAM)
    with pytest.raises(MissingCommits, match="up to sequence 3 or more, found that it ends at 1"):
        land(store, [4])
    assert log.read_head(store, KEYS).manifest.last_sequence == 1


def test_what_never_had_a_commit_is_missed_by_nobody(store: MemoryStore) -> None:
    registry.register_taps(store, ["another"])
    registry.register_streams(store, TAP, {"others": catalogue.entry("others", SCHEMA)})
    run(store, 1)
    assert_clean(store)
    assert Lake(store).tap("another").streams() == []
    assert list(Lake(store).stream(TAP, "others").snapshot().files()) == []


SCHEMA = Schema({"type": "object"}, ())


@pytest.mark.parametrize("tap", [None, TAP])
def test_a_rebuild_accepts_what_there_is(store: MemoryStore, tap: str | None) -> None:
    run(store, 1, 2)
    run(store, 1, stream="others")
    delete(store, KEYS.folder)
    report = rebuild(store, tap)
    assert [line.partition(": ")[0] for line in report.missing] == [KEYS.manifest]
    assert marked(store) is None
    assert marked(store, "others") == end_of(store, "others")
    assert_clean(store)
    assert list(Lake(store).stream(TAP, STREAM).snapshot().files()) == []
    delete(store, key_names.tap_folder(TAP))
    assert [line.partition(": ")[0] for line in rebuild(store, tap).missing] == [CATALOGUE_KEY]
    assert_clean(store)
    assert Lake(store).tap(TAP).streams() == []


def test_a_log_that_is_made_again_has_its_marker(store: MemoryStore) -> None:
    run(store, 1, 2)
    store.delete(KEYS.manifest)
    check(store, fix=True)
    assert marked(store) == end_of(store)
    assert_clean(store)


def by_an_older_program(store: Store) -> None:
    """What it writes when it registers a stream: an entry without a marker."""
    body = json.loads(store.read(CATALOGUE_KEY).data)
    streams = [marker.marked(one, None) for one in body["streams"]]
    overwrite(store, CATALOGUE_KEY, json.dumps({**unsealed(body), "streams": streams}).encode())


def unsealed(body: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name != "document_checksum"}


def test_an_older_program_drops_the_marker_and_the_next_run_sets_it(store: MemoryStore) -> None:
    run(store, 1)
    by_an_older_program(store)
    assert marked(store) is None
    assert_clean(store)
    run(store, 2)
    assert marked(store) == end_of(store)


@pytest.mark.parametrize(
    "root",
    [
        {marker.LOG_KEY: "x"},
        {marker.SEQUENCE_KEY: 7},
        {marker.LOG_KEY: 7, marker.SEQUENCE_KEY: 7},
        {marker.LOG_KEY: "", marker.SEQUENCE_KEY: 7},
        {marker.LOG_KEY: "x", marker.SEQUENCE_KEY: "7"},
        {marker.LOG_KEY: "x", marker.SEQUENCE_KEY: True},
        {marker.LOG_KEY: "x", marker.SEQUENCE_KEY: 2**70},
        {marker.LOG_KEY: "x", marker.SEQUENCE_KEY: None},
    ],
)
def test_a_marker_that_somebody_wrote_by_hand_is_none(root: dict[str, Any]) -> None:
    one: Entry = {"metadata": [{"breadcrumb": [], "metadata": root}]}
    assert marker.of(one) is None
    assert marker.of(marker.marked(one, Marker("log", 3))) == Marker("log", 3)


@pytest.mark.parametrize("metadata", [None, [], [{"breadcrumb": ["properties", "id"]}]])
def test_an_entry_without_root_metadata_can_have_one(metadata: Any) -> None:
    one: Entry = {"tap_stream_id": "x"} | ({} if metadata is None else {"metadata": metadata})
    assert marker.of(marker.marked(one, Marker("log", 3))) == Marker("log", 3)
    assert marker.marked(one, None) == one


def test_markers_move_forward_only() -> None:
    known = Marker("log", 3)
    assert marker.moved(known, Marker("log", 2)) == known
    assert marker.moved(known, Marker("log", 4)) == Marker("log", 4)
    assert marker.moved(known, Marker("another", 4)) == known


def test_a_consumer_with_a_bookmark_notices_too(store: MemoryStore) -> None:
    run(store, 1, 2)
    until = Lake(store).stream(TAP, STREAM).increment().until
    delete(store, KEYS.folder)
    with pytest.raises(MissingCommits):
        Lake(store).stream(TAP, STREAM).increment(until)
    rebuild(store)
    with pytest.raises(StaleBookmark):
        Lake(store).stream(TAP, STREAM).increment(until)
    assert files_in(store) == []
