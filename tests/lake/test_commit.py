"""A commit is in the log exactly once, whatever the store answers and whoever else commits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from singerlake.errors import (
    AlreadyExists,
    Changed,
    CommitConflict,
    MissingManifest,
    OutcomeUnknown,
    SchemaCollision,
    SingerlakeError,
)
from singerlake.lake import LockTimes, commit, open_on, rebuild
from singerlake.store import Counting, Retrying, RetryPolicy, Store
from tests.lake import faulty_store
from tests.lake.faulty_store import (
    MANIFEST_REPLACE,
    SEGMENT_CREATE,
    At,
    Gate,
    LosingAnswers,
    Lost,
    Pausing,
    Recording,
    Unlocked,
    in_thread,
)
from tests.lake.landing import (
    KEYS,
    PATIENT,
    STREAM,
    TAP,
    assert_clean,
    assert_once_each,
    edit,
    files_in,
    land,
    land_each,
    new_store,
    numbers_in,
    objects_in,
    older_names,
    options,
    paths_in,
    record_line,
    schema_hash,
    schema_line,
)

LOSSES: dict[str, tuple[At, type[SingerlakeError]]] = {
    "the file's create": (faulty_store.UPLOAD, AlreadyExists),
    "the manifest's create": (faulty_store.MANIFEST_CREATE, AlreadyExists),
    "the manifest's replace": (faulty_store.MANIFEST_REPLACE, Changed),
    "the lock's create": (faulty_store.LOCK_CREATE, AlreadyExists),
    "the lock's release": (faulty_store.LOCK_DELETE, Changed),
    "the catalogue's create": (faulty_store.CATALOGUE_CREATE, AlreadyExists),
    "the lake document's create": (faulty_store.LAKE_CREATE, AlreadyExists),
}
REPLACED = {
    "the catalogue's replace": (faulty_store.CATALOGUE_REPLACE, Changed),
    "the lake document's replace": (faulty_store.LAKE_REPLACE, Changed),
}


def quick_retries(store: Store) -> Store:
    return Retrying(store, RetryPolicy(attempts=3), sleep=lambda _: None)


WAYS: dict[str, Callable[[Store], Store]] = {"bare": lambda store: store, "retried": quick_retries}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("what", LOSSES)
def test_an_answer_that_is_lost_leaves_one_entry(what: str, way: str) -> None:
    at, _ = LOSSES[what]
    store = new_store()
    faulty = LosingAnswers(store, Lost(at, OutcomeUnknown))
    land(WAYS[way](faulty), [0])
    assert faulty.happened == 1
    assert_once_each(store, 1)
    assert_clean(store)
    assert objects_in(store, "singerlake.lock") == []


@pytest.mark.parametrize("what", LOSSES)
def test_a_hidden_retry_that_is_refused_by_its_own_success_leaves_one_entry(what: str) -> None:
    at, refusal = LOSSES[what]
    store = new_store()
    faulty = LosingAnswers(store, Lost(at, refusal))
    land(faulty, [0])
    assert faulty.happened == 1
    assert_once_each(store, 1)
    assert_clean(store)
    assert len(objects_in(store, ".singer.gz")) == 1


@pytest.mark.parametrize("kind", ["lost", "refused"])
@pytest.mark.parametrize("what", REPLACED)
def test_a_lost_answer_to_a_changed_document_changes_it_once(what: str, kind: str) -> None:
    at, refusal = REPLACED[what]
    store = new_store()
    open_on(store, create=True)  # so that the tap is added by a replace
    if at is faulty_store.CATALOGUE_REPLACE:
        land(store, [0], version=1)
    faulty = LosingAnswers(store, Lost(at, OutcomeUnknown if kind == "lost" else refusal))
    land(faulty, [1], version=2)
    assert faulty.happened == 1
    assert numbers_in(store)[-1:] == [1]
    assert list(open_on(store).tap(TAP).catalogue()) == [STREAM]
    assert_clean(store)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("answer", [OutcomeUnknown, AlreadyExists])
def test_a_lost_answer_to_a_segments_create_leaves_one_entry(
    answer: type[SingerlakeError], way: str, small_segments: None
) -> None:
    store = new_store()
    land_each(store, range(4))
    faulty = LosingAnswers(store, Lost(SEGMENT_CREATE, answer))
    land(WAYS[way](faulty), [4])
    assert faulty.happened == 1
    assert_once_each(store, 5)
    assert_clean(store)


@pytest.mark.parametrize("answer", [OutcomeUnknown, Changed])
def test_our_entry_is_found_when_250_commits_have_moved_it_to_a_segment(
    answer: type[SingerlakeError],
) -> None:
    store = new_store()
    land(store, [0])

    def others() -> None:
        # In another schema folder, because this one's lock is held.
        land_each(store, range(2, 252), version=2)

    faulty = LosingAnswers(store, Lost(MANIFEST_REPLACE, answer, meanwhile=others))
    (file,) = land(faulty, [1])
    assert file.sequence == 2
    head = commit.open_log(store, KEYS, "test").manifest
    assert head.segments
    assert head.files[0].sequence > 2
    assert_once_each(store, 252)
    assert_clean(store)


def test_a_conflict_is_retried_on_the_fresh_manifest() -> None:
    store = new_store()
    land(store, [0])
    gate = Gate(MANIFEST_REPLACE)
    recording = Recording(store)
    late = in_thread(land, Pausing(recording, gate), [1])
    gate.wait()
    land_each(store, [2, 3], version=2)
    gate.open()
    (file,) = late.result()
    assert file.sequence == 4
    assert recording.count(MANIFEST_REPLACE) == 2
    assert numbers_in(store) == [0, 2, 3, 1]
    assert_clean(store)


def test_a_writer_that_never_wins_gives_up_with_a_clear_error() -> None:
    store = new_store()
    land(store, [0])

    class Losing(Unlocked):
        def replace(self, key: str, data: bytes, version: str) -> str:
            if key == KEYS.manifest:
                commit.touch_ourselves(store, KEYS, "another", PATIENT)
            return super().replace(key, data, version)

    with pytest.raises(CommitConflict, match=r"manifest\.json: other writers changed it"):
        land(Losing(store), [1], times=LockTimes(max_wait=0.2))
    assert numbers_in(store) == [0]


def test_a_store_that_refuses_its_own_version_is_blamed_and_no_writer() -> None:
    store = new_store()
    land(store, [0])

    class Refusing(Unlocked):
        def replace(self, key: str, data: bytes, version: str) -> str:
            if key == KEYS.manifest:
                raise Changed("what a proxy makes of an ETag")
            return super().replace(key, data, version)

    with pytest.raises(CommitConflict, match=r"nobody changes it, .* `singerlake doctor`"):
        land(Refusing(store), [1], times=LockTimes(max_wait=0.2))
    assert numbers_in(store) == [0]


def test_a_conflict_leaves_no_segment_of_a_manifest_that_was_refused(small_segments: None) -> None:
    store = new_store()
    land_each(store, range(4))
    gate = Gate(MANIFEST_REPLACE)
    late = in_thread(land, Pausing(store, gate), [4])
    gate.wait()
    land(store, [5], version=2)
    gate.open()
    late.result()
    assert_once_each(store, 6)
    assert_clean(store)  # no orphan segment


def test_a_commit_costs_five_requests_and_no_listing() -> None:
    store = Counting(new_store())
    writer = open_on(store, create=True).writer(TAP, options=options())
    writer.write(schema_line())
    writer.write(record_line(0))
    writer.commit()
    for number in range(1, 201):
        store.reset()
        writer.write(record_line(number))
        writer.commit()
        assert requests(store) == {
            "create": 2,  # the lock, the file
            "read": 1,  # the lock
            "replace": 1,  # the manifest
            "delete_if": 1,  # the lock
        } or (number == 200 and requests(store)["create"] == 4)
    assert sum(requests(store).values()) == 8  # and the segment, the copy, and a look at that
    writer.close()
    assert_once_each(store, 201)


def test_a_new_writers_first_commit_to_a_known_stream_lists_nothing() -> None:
    store = Counting(new_store())
    land(store, [0])
    store.reset()
    land(store, [1])
    # The lake document twice (open, register), the catalogue, and the manifest come on top.
    assert requests(store) == {"create": 2, "read": 5, "replace": 1, "delete_if": 1}


def requests(store: Counting) -> dict[str, int]:
    """What was sent to the store: asking a store for its promise is no request."""
    return {name: count for name, count in store.counts.items() if name != "promise"}


def test_files_without_a_manifest_are_not_hidden_by_a_new_one() -> None:
    store = new_store()
    land(store, [0])
    store.delete(KEYS.manifest)
    before = objects_in(store)
    with pytest.raises(MissingManifest, match="run `singerlake rebuild` for stream 'orders'"):
        land(store, [1])
    assert objects_in(store) == before
    rebuild(store)
    land(store, [1])
    assert_once_each(store, 2)


def test_a_manifest_that_vanishes_during_a_commit_is_a_clear_error() -> None:
    store = new_store()
    land(store, [0])
    gate = Gate(MANIFEST_REPLACE)
    writer = in_thread(land, Pausing(store, gate), [1])
    gate.wait()
    store.delete(KEYS.manifest)
    gate.open()
    with pytest.raises(MissingManifest, match="singerlake rebuild"):
        writer.result()
    rebuild(store)
    assert_once_each(store, 2)
    assert_clean(store)


@pytest.mark.parametrize(
    "at",
    [At("read", "catalogue.json"), At("list"), At("create", "manifest.json")],
    ids=["reads the catalogue", "lists", "creates the manifest"],
)
def test_two_writers_that_make_the_same_new_stream_both_succeed(at: At) -> None:
    store = new_store()
    open_on(store, create=True)
    gates = [Gate(at), Gate(at)]
    writers = [in_thread(land, Pausing(store, gate), [number]) for number, gate in enumerate(gates)]
    for gate in gates:
        gate.wait()
    for gate, writer in zip(gates, writers, strict=True):
        gate.open()
        writer.result()
    assert_once_each(store, 2)
    assert_clean(store)


def test_two_writers_that_make_the_same_new_lake_both_succeed() -> None:
    store = new_store()
    gates = [Gate(faulty_store.LAKE_CREATE), Gate(faulty_store.LAKE_CREATE)]
    writers = [
        in_thread(land, Pausing(store, gate), [0], stream=f"stream-{number}")
        for number, gate in enumerate(gates)
    ]
    for gate in gates:
        gate.wait()
    for gate in gates:
        gate.open()
    for writer in writers:
        writer.result()
    assert [stream.name for stream in open_on(store).tap(TAP).streams()] == ["stream-0", "stream-1"]
    assert_clean(store)


def test_two_schemas_of_one_hash_are_refused_and_nothing_is_written() -> None:
    store = new_store()
    land(store, [0])

    def pretend(body: dict[str, Any]) -> None:
        body["versions"][schema_hash()]["digest"] = "sha256:of-another-schema"

    edit(store, KEYS.manifest, pretend)
    before = objects_in(store)
    with pytest.raises(SchemaCollision, match="belongs to another schema"):
        land(store, [1])
    assert objects_in(store) == before
    assert numbers_in(store) == [0]


def test_files_with_the_same_times_get_names_of_their_own() -> None:
    store = new_store()
    for _ in range(5):
        land(store, [0])
    assert len(set(paths_in(store))) == 5
    assert numbers_in(store) == [0] * 5
    assert [file.sequence for file in files_in(store)] == [1, 2, 3, 4, 5]
    assert_clean(store)


def test_an_upload_that_fails_leaves_the_log_as_it_was() -> None:
    store = new_store()
    land(store, [0])

    class Full(Pausing):
        def create(self, key: str, data: Any) -> str:
            if key.endswith(".singer.gz"):
                raise SingerlakeError("no room")
            return super().create(key, data)

    with pytest.raises(SingerlakeError, match="no room"):
        land(Full(store), [1])
    assert numbers_in(store) == [0]
    assert_clean(store)
    land(store, [1], times=PATIENT)
    assert_once_each(store, 2)


def test_the_row_of_a_lost_file_is_not_taken_for_our_commit() -> None:
    """Ours took the name that was free, as older names were, and has other bytes."""
    store = new_store()
    with older_names(), open_on(store, create=True).writer(TAP, options=options()) as writer:
        writer.write(schema_line())
        writer.write(record_line(0))
        writer.commit()
        (other,) = land(store, [5])
        store.delete(KEYS.under(other.path))
        writer.write(record_line(5))
        (ours,) = writer.commit()
    assert (ours.path, ours.sequence) == (other.path, 3)
    assert ours.checksum != other.checksum
    rebuild(store)
    assert numbers_in(store) == [0, 5]
    assert_clean(store)
