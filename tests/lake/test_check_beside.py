"""Check and rebuild beside others: they keep to what they were asked, and to what writers do."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest

from singerlake.errors import CommitConflict
from singerlake.format import catalogue
from singerlake.format import keys as key_names
from singerlake.format.keys import StreamKeys
from singerlake.format.message import decode_schema
from singerlake.lake import Lake, check, open_on, rebuild
from singerlake.lake.registry import read_catalogue, register_streams
from singerlake.store import Store
from tests.lake.broken_promises import LAKE
from tests.lake.faulty_store import Hooked, in_thread
from tests.lake.landing import (
    QUICK,
    STREAM,
    TAP,
    assert_clean,
    assert_once_each,
    codes,
    edit,
    land,
    land_each,
    new_store,
    options,
    record_line,
    schema_line,
)

pytestmark = pytest.mark.usefixtures("small_segments")


STREAMS = [("tap-a", "one"), ("tap-a", "two"), ("tap-b", "one")]


@pytest.fixture
def three_streams() -> Store:
    """Two taps, three streams, an orphan in each, and no catalogue and lake document."""
    store = new_store()
    for tap, stream in STREAMS:
        with open_on(store, create=True).writer(tap, options=options()) as writer:
            writer.write(schema_line(stream))
            writer.write(record_line(0, stream))
        keys = StreamKeys(tap, stream)
        (file,) = Lake(store).stream(tap, stream).snapshot().files()
        store.create(
            keys.under(re.sub(r"-\w+\.singer", "-0badcafe.singer", file.path)),
            store.read(keys.under(file.path)).data,
        )
    return store


def counts(store: Store) -> list[int]:
    return [
        len(list(Lake(store).stream(tap, stream).snapshot().files())) for tap, stream in STREAMS
    ]


@pytest.mark.parametrize("reads", range(1, 9))
def test_a_rebuild_that_writes_the_segments_anew_does_not_end_a_check(reads: int) -> None:
    """However far the check has come with the segments of before."""
    store = new_store()
    land_each(store, range(12))
    keys = StreamKeys(TAP, STREAM)
    first = next(iter(Lake(store).stream(TAP, STREAM).snapshot().files()))
    asked = 0

    def is_the_one(method: str, key: str) -> bool:
        nonlocal asked
        asked += method == "read" and "/_segments/" in key
        return asked == reads

    def lose_a_file_and_rebuild() -> None:
        store.delete(keys.under(first.path))
        rebuild(store)

    beside = Hooked(store, is_the_one, lose_a_file_and_rebuild)
    report = check(beside, times=QUICK)
    assert beside.happened
    assert "manifest-corrupt" not in codes(report)
    assert_clean(store)


@pytest.mark.parametrize("tap", ["tap-a", "tap-b"])
def test_a_fix_leaves_alone_the_schema_that_a_writer_has_just_registered(
    three_streams: Store, tap: str
) -> None:
    """Its first file is not committed yet: that of the newest file is older."""
    newer = decode_schema(schema_line("one", version=2))
    register_streams(three_streams, tap, {"one": catalogue.entry("one", newer)})
    edit(three_streams, key_names.catalogue("tap-a"), _forget("two"))
    report = check(three_streams, fix=True, times=QUICK)
    assert "catalogue-stream" in codes(report)
    assert_clean(three_streams)
    assert catalogue.schema_of((read_catalogue(three_streams, tap) or {})["one"]) == newer
    assert set(read_catalogue(three_streams, "tap-a") or {}) == {"one", "two"}


def _forget(stream: str) -> Callable[[Any], object]:
    def change(body: Any) -> None:
        body.pop("document_checksum", None)
        body["streams"] = [one for one in body["streams"] if one["stream"] != stream]

    return change


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
