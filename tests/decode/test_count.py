"""Counting from the log: the number of a real read, whatever is in the files, and none opened where
the log tells."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any
from unittest import mock

from hypothesis import event, given, settings
from hypothesis import strategies as st

from singerlake.decode import count as counting
from singerlake.decode.count import counts
from singerlake.decode.request import StreamRequest
from singerlake.decode.stream import read, selected, take
from singerlake.errors import CorruptDocument, MissingFile, SingerlakeError
from singerlake.lake import log, open_on, rebuild
from singerlake.lake.log import EVERYTHING, Selection
from singerlake.lake.vacuum import vacuum
from singerlake.store import Store
from singerlake.store.counting import Counting
from tests.lake.landing import (
    KEYS,
    STREAM,
    TAP,
    edit,
    files_in,
    new_store,
    options,
    overwrite,
    schema_line,
    time_of,
)
from tests.lake.merging import OPTIONS, purge_at_once

ACTIVATIONS = [
    '{"type":"ACTIVATE_VERSION","stream":"orders","version":1}',
    '{ "version" : 1 , "stream" : "orders" , "type" : "ACTIVATE_VERSION" }',
    '{"type":"ACTIVATE\\u005fVERSION","stream":"orders","version":1}',
    '{"type":"ACTIVATE\\u005fVERSION","stream":"orders","version":1,"record":{"id":1}}',
    '{"type":"ACTIVATE_VERSION","stream":"orders","version":NaN}',
    '{"type":"RECORD","type":"ACTIVATE_VERSION","stream":"orders","record":{},"version":1}',
]
RECORDS = [
    '{"id": 1}',
    '{"id": "no number"}',
    '{"id": NaN}',
    "{}",
    '{"id": 1, "text": "\\"ACTIVATE_VERSION\\""}',
    '{"type": "ACTIVATE_VERSION"}',
]


def record(text: str, second: int) -> str:
    moment = time_of(second).isoformat()
    return f'{{"type":"RECORD","stream":"{STREAM}","record":{text},"time_extracted":"{moment}"}}'


LINES = st.one_of(
    st.builds(record, st.sampled_from(RECORDS), st.integers(0, 5)),
    st.sampled_from(ACTIVATIONS),
    st.just('{"type":"RECO\\u0052D","stream":"orders","record":{"id":5}}'),
    st.just("  "),
)
COMMITS = st.lists(
    st.tuples(st.integers(1, 2), st.lists(LINES, min_size=1, max_size=4)), min_size=1, max_size=6
)
NUMBERS = st.lists(st.integers(0, 7), unique=True, max_size=4).map(
    lambda found: tuple((number, number) for number in sorted(found))
)
SECONDS = st.none() | st.integers(0, 6).map(time_of)
SELECTIONS = st.builds(
    Selection,
    since=st.sampled_from([0, 0, 1, 3]),
    until=st.none() | st.integers(0, 6),
    start=SECONDS,
    end=SECONDS,
    numbers=st.none() | NUMBERS,
)
HARM = st.sampled_from(
    ["none", "merged", "merged", "merged by an older one", "lost", "merged and lost", "no manifest"]
)


def land(store: Store, lines: Iterable[str], version: int = 1) -> None:
    with open_on(store, create=True).writer(TAP, "run", options()) as writer:
        writer.write(schema_line(version=version))
        for line in lines:
            writer.write(line.encode())


def forget_commits(store: Store) -> None:
    """As a vacuum of an older Singerlake leaves merged files: without their commits."""
    for place, file in enumerate(files_in(store)):
        if file.merge is None:
            continue
        key = KEYS.under(file.merge.path)
        body = json.loads(store.read(key).data)
        del body["commits"]
        data = json.dumps(body).encode()
        overwrite(store, key, data)

        def with_checksum(found: dict[str, Any], at: int = place, new: bytes = data) -> None:
            found["files"][at]["merge"]["checksum"] = log.checksum(new)

        edit(store, KEYS.manifest, with_checksum)


def harmed(store: Store, harm: str) -> None:
    if "merged" in harm:
        vacuum(store, KEYS, OPTIONS)
        purge_at_once(store)
    if harm == "merged by an older one":
        forget_commits(store)
    if "lost" in harm:
        file = files_in(store)[0]
        store.delete(KEYS.under(file.path))
        rebuild(store)
    if harm == "no manifest":
        store.delete(KEYS.manifest)


def outcome(count: Any) -> int | str:
    try:
        return sum(count())
    except SingerlakeError as error:
        return f"{type(error).__name__}: {error}"


def both(store: Store, request: StreamRequest) -> tuple[int | str, int | str]:
    """What the count says, and what a read gives."""
    state = take(store, request)
    counted = outcome(lambda: counts(state, selected(state, request)))
    return counted, outcome(lambda: (batch.num_rows for batch in read(state, request)))


@settings(deadline=None, max_examples=150)
@given(COMMITS, HARM, SELECTIONS, st.sampled_from(["all", "all", "latest"]))
def test_a_count_is_that_of_a_read(
    commits: list[tuple[int, list[str]]], harm: str, selection: Selection, versions: Any
) -> None:
    store = new_store()
    for version, lines in [*commits, (1, [record("{}", 3)])]:
        land(store, lines, version)
    harmed(store, harm)
    asked = StreamRequest(TAP, STREAM, selection=selection, schema_versions=versions)
    for request in (asked, replace(asked, columns=("id",)), replace(asked, selection=EVERYTHING)):
        counted, found = both(store, request)
        assert counted == found
    event(harm)


def test_a_count_that_takes_lines_for_records_is_found() -> None:
    store = new_store()
    land(store, [record("{}", 1)])
    land(store, [ACTIVATIONS[0], record("{}", 2)])
    harmed(store, "merged")
    request = StreamRequest(TAP, STREAM, selection=Selection(since=1))
    assert both(store, request) == (1, 1)

    def lines(found: Any, file: Any, selection: Selection) -> int:
        return sum(count for number, count in found.parts if selection.holds(number))

    with mock.patch.object(counting, "_of_parts", lines):
        assert both(store, request) == (2, 1)


def opened(store: Store, selection: Selection = EVERYTHING) -> tuple[int, int]:
    """The number of rows, and how many objects were opened for it."""
    counter = Counting(store)
    return sum(counts(take(counter, StreamRequest(TAP, STREAM)), selection)), counter.counts.get(
        "open", 0
    )


def test_only_files_that_the_log_cannot_tell_of_are_opened() -> None:
    store = new_store()
    for first in range(0, 40, 10):
        land(store, [record("{}", second) for second in range(first, first + 10)])
    assert opened(store) == (40, 0)
    assert opened(store, Selection(since=1, until=3)) == (20, 0)
    assert opened(store, Selection(start=time_of(10), end=time_of(30))) == (20, 0)
    assert opened(store, Selection(start=time_of(15), end=time_of(30))) == (15, 1)
    harmed(store, "merged")
    assert len(files_in(store)) == 1
    assert opened(store) == (40, 0)
    assert opened(store, Selection(since=1, until=3)) == (20, 0)
    forget_commits(store)
    assert opened(store, Selection(since=1, until=3)) == (20, 0), "all of its lines are records"


def test_where_lines_are_no_records_and_their_commits_are_forgotten_the_file_is_read() -> None:
    store = new_store()
    for second in range(4):
        land(store, [ACTIVATIONS[0], record("{}", second)])
    harmed(store, "merged")
    assert opened(store, Selection(since=1)) == (3, 0)
    forget_commits(store)
    assert opened(store, Selection(since=1)) == (3, 1)
    assert opened(store) == (4, 0)


def test_blank_lines_and_odd_files_that_were_adopted() -> None:
    store = new_store()
    land(store, [record("{}", 1)])
    (file,) = files_in(store)
    whole = gzip.decompress(store.read(KEYS.under(file.path)).data)
    more = b"\n\r\n" + whole + b"\n  \n" + whole.split(b"\n")[1] + b"\r\n" + whole.split(b"\n")[1]
    name = file.path.rpartition("/")[0] + f"/{STREAM}-20260101T000001Z-20260101T000001Z.singer"
    store.create(KEYS.under(name), more)
    rebuild(store)
    assert sorted(row.records for row in files_in(store)) == [1, 3]
    assert both(store, StreamRequest(TAP, STREAM)) == (4, 4)


def test_the_same_errors_where_a_log_is_damaged_or_a_file_has_to_be_read() -> None:
    store = new_store()
    for second in range(2):
        land(store, [record("{}", second), record("{}", second + 5)])
    for file in files_in(store):
        store.delete(KEYS.under(file.path))
    cut = StreamRequest(TAP, STREAM, columns=(), selection=Selection(start=time_of(3)))
    counted, found = both(store, replace(cut, metadata=("_tap",)))
    assert counted == found
    assert str(counted).startswith(MissingFile.__name__)
    assert opened(store) == (4, 0), "what is not read is not missed"
    harmed(store, "lost")
    assert opened(store) == (0, 0)


def test_a_merge_document_that_is_gone_is_an_error_for_both() -> None:
    store = new_store()
    for second in range(3):
        land(store, [record("{}", second)])
    harmed(store, "merged")
    (file,) = files_in(store)
    assert file.merge is not None
    store.delete(KEYS.under(file.merge.path))
    counted, found = both(store, StreamRequest(TAP, STREAM, selection=Selection(since=1)))
    assert counted == found
    assert str(counted).startswith(CorruptDocument.__name__)
    assert both(store, StreamRequest(TAP, STREAM)) == (3, 3)
