"""Runs: their documents, their names, and the log that numbers them."""

from __future__ import annotations

from datetime import timedelta

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from singerlake.errors import BadName, CorruptDocument, UnsupportedFormat
from singerlake.format import document, keys, run, run_log
from singerlake.format.keys import LONGEST_SEGMENT, RunKeys, RunObject, StreamKeys
from singerlake.format.run import OUTCOMES, Mark, RunDocument, RunStream
from singerlake.format.run_keys import run_name
from singerlake.format.run_log import RunLog, Segment
from tests.format.made import EPOCH, moments, names

counts = st.integers(0, 2**53)
ids = st.one_of(names, st.text("ab/é", min_size=60, max_size=90)).filter(lambda name: _fits(name))


def _fits(name: str) -> bool:
    try:
        keys.escape(name)
    except BadName:
        return False
    return True


@st.composite
def run_streams(draw: st.DrawFn) -> RunStream:
    first, last = sorted((draw(counts), draw(counts)))
    return RunStream(
        log_id=draw(st.text(max_size=8)),
        first_sequence=first,
        last_sequence=last,
        files=draw(counts),
        records=draw(counts),
        bytes=draw(counts),
        schema_hashes=tuple(draw(st.lists(st.text(max_size=7), max_size=3))),
        bookmark=draw(st.none() | st.booleans()),
    )


marks = st.builds(
    Mark, id=st.text(max_size=4), by=names, at=moments, before=st.sampled_from(OUTCOMES)
)
run_documents: st.SearchStrategy[RunDocument] = st.builds(
    run.new,
    tap_id=ids,
    run_id=ids,
    writer_id=ids,
    begun=moments,
    ended=moments,
    outcome=st.sampled_from(OUTCOMES),
    reason=st.text(max_size=20),
    exit_code=st.none() | st.integers(-64, 255),
    streams=st.dictionaries(names, run_streams(), max_size=3),
    versions=st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
    environment=st.dictionaries(st.text(max_size=4), st.text(max_size=4), max_size=2),
    traceparent=st.text(max_size=4),
    mark=st.none() | marks,
)


@given(run_documents)
def test_a_document_reads_back_as_it_was(made: RunDocument) -> None:
    assert run.decode(run.encode(made), "here") == made


@given(run_documents, st.data())
def test_a_document_with_another_byte_is_corrupt(made: RunDocument, data: st.DataObject) -> None:
    body = bytearray(run.encode(made))
    at = data.draw(st.integers(0, len(body) - 2))
    changed = data.draw(st.integers(0, 255).filter(lambda byte: byte != body[at]))
    body[at] = changed
    with pytest.raises((CorruptDocument, UnsupportedFormat)):
        run.decode(bytes(body), "here")


@given(ids, moments, ids, ids)
def test_a_name_is_a_key_of_its_tap_and_of_no_stream(
    tap_id: str, begun: object, run_id: str, writer_id: str
) -> None:
    name = run_name(begun, run_id, writer_id)  # type: ignore[arg-type]
    assert len(name) <= LONGEST_SEGMENT
    of = RunKeys(tap_id)
    assert keys.parse(of.under(name)) == RunObject(tap_id, "run", name)
    assert keys.parse(of.log) == RunObject(tap_id, "log", "log.json")


@given(names)
def test_no_stream_has_the_folder_of_the_runs(stream: str) -> None:
    assume(_fits(stream))
    folder = StreamKeys("tap", stream).folder
    assert folder != RunKeys("tap").folder
    assert folder.lower() != RunKeys("tap").folder
    assert StreamKeys("tap", "_runs").folder == "raw/tap/!5Fruns"


@given(moments, moments, ids, ids)
def test_names_sort_by_the_time_at_which_runs_began(
    one: object, other: object, run_id: str, writer_id: str
) -> None:
    assume(one != other)
    first, second = sorted((one, other))  # type: ignore[type-var]
    assert run_name(first, run_id, writer_id) < run_name(second, run_id, writer_id)


@given(moments, st.tuples(ids, ids), st.tuples(ids, ids))
def test_two_runs_have_two_names(
    begun: object, one: tuple[str, str], other: tuple[str, str]
) -> None:
    # The dash joins and occurs within ids: the writer's id ends with random digits for that.
    assume(one[1] != other[1] and "-" not in "".join((*one, *other)))
    assert run_name(begun, *one) != run_name(begun, *other)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "key",
    [
        "raw/tap/_runs",
        "raw/tap/_runs/other.json",
        "raw/tap/_runs/20260101T000000Z-a-b.json",
        "raw/tap/_runs/20260101T000000.000000Z-a b.json",
        "raw/tap/_runs/_segments/1-1-2-xyz.json",
        "raw/tap/_runs/more/log.json",
    ],
)
def test_what_is_not_of_a_run_is_foreign(key: str) -> None:
    assert keys.parse(key) is None


def made(number: int, outcome: str = "complete") -> RunDocument:
    begun = EPOCH + timedelta(hours=number)
    return run.new(
        tap_id="tap",
        run_id=f"run-{number}",
        writer_id=f"writer-{number}",
        begun=begun,
        ended=begun + timedelta(minutes=5),
        outcome=outcome,
        streams={"orders": RunStream(records=number, schema_hashes=("StxYGwZ",))},
    )


def empty_log() -> RunLog:
    return RunLog(tap_id="tap", log_id="log", commit_id="0")


@given(st.lists(run_documents, max_size=5))
def test_a_log_reads_back_as_it_was(runs: list[RunDocument]) -> None:
    log = run_log.append(empty_log(), runs, "1")
    assert run_log.decode(run_log.encode(log), "here") == log
    assert [row.number for row in log.rows] == list(range(1, len(runs) + 1))
    assert all(row.agrees(one) for row, one in zip(log.rows, runs, strict=True))


@given(st.integers(0, 300))
def test_sealed_rows_stay_in_order_and_the_log_stays_small(number: int) -> None:
    log, segments = empty_log(), {}
    for index in range(number):
        log = run_log.append(log, [made(index)], str(index))
        while (due := run_log.due_seal(log)) is not None:
            row = due.segment(f"{len(segments)}", "sum")
            segments[row.path] = due.content
            log = run_log.sealed(log, due, row)
        assert len(log.rows) <= 2 * run_log.FAN_OUT
        assert run_log.decode(run_log.encode(log), "here") == log

    def rows(parts: tuple[Segment, ...]) -> list[int]:
        found = []
        for part in parts:
            content = segments[part.path]
            found += rows(content.segments) + [row.number for row in content.rows]
        return found

    assert rows(log.segments) + [row.number for row in log.rows] == list(range(1, number + 1))
    sealed = number - len(log.rows)
    assert log.newest_sealed == (made(sealed - 1).begun if sealed else None)


@pytest.mark.parametrize(
    "change",
    [
        {"last_number": 3},
        {"last_number": 1},
        {
            "segments": (
                Segment(
                    path="a", level=1, first_number=1, last_number=1, newest=EPOCH, checksum=""
                ),
            )
        },
    ],
)
def test_a_log_with_a_hole_is_corrupt(change: dict[str, object]) -> None:
    log = run_log.append(empty_log(), [made(1), made(2)], "1")
    wrong = msgspec.structs.replace(log, **change)
    with pytest.raises(CorruptDocument, match="rows that are not numbered"):
        run_log.decode(run_log.encode(wrong), "here")


def test_what_no_writer_writes_is_corrupt() -> None:
    backwards = RunStream(first_sequence=2, last_sequence=1)
    wrong = msgspec.structs.replace(made(1), streams={"orders": backwards})
    with pytest.raises(CorruptDocument, match="'orders' with the first_sequence 2"):
        run.decode(run.encode(wrong), "here")
    with pytest.raises(CorruptDocument, match="without a run_id"):
        run.decode(run.encode(msgspec.structs.replace(made(1), run_id="")), "here")


def test_a_document_of_the_future_says_to_upgrade() -> None:
    newer = msgspec.structs.replace(made(1), format_version=document.VERSION + 1)
    with pytest.raises(UnsupportedFormat, match="upgrade"):
        run.decode(run.encode(newer), "here")
