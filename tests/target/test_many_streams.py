"""Gathered blocks of many streams: what they hold is stored as if every line had come alone."""

from __future__ import annotations

import itertools
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from singerlake.errors import InputError, UnknownStream
from singerlake.format import dealing
from singerlake.format.block import Summary
from singerlake.lake import WriterOptions, open_lake
from singerlake.lake.spool import CHUNK
from target_singerlake import raw
from target_singerlake.blocks import BLOCK, GATHERED, blocks
from target_singerlake.landing import Landing
from target_singerlake.messages import state_value
from target_singerlake.raw import RawIntake
from tests.target.driving import TAP_ID, assert_clean, files, lake, schema, stored
from tests.target.mixture import (
    AROUND_STATES,
    BLANK,
    KEYS,
    STREAMS,
    WAYS,
    Sent,
    is_state,
    is_stored,
    record_lines,
    sent_as,
    sent_lines,
)
from tests.target.test_blocks import Cut

LOG = logging.getLogger(__name__)
OPTIONS = WriterOptions(require_keys=True)
_roots = (f"memory://many-{number}" for number in itertools.count())

_SPLICED = re.compile(rb',"time_extracted":"[-0-9T:.]{26}Z"\}(\s*)$')

HOSTILE = [
    b"no JSON",
    b"{",
    b'{"type":"RECORD","stream":"s3","record":{"id":1}',
    b'{"type":"RECORD","stream":"s3","record":null}',
    b'{"type":"RECORD","stream":"s3","record":[]}',
    b'{"type":"RECORD","stream":"s3"}',
    b'{"type":"RECORD","record":{"id":1}}',
    b'{"type":"RECORD","stream":"","record":{"id":1}}',
    b'{"type":"RECORD","stream":"never","record":{"id":1}}',
    b'{"type":"RECORD","stream":"s3","record":{"id":"\xff"}}',
    b'{"type":"RECORD","stream":"s3","record":{"no":"keys"}}',
    b'{"type":"RECORD","stream":"s3","record":{"id":1},"time_extracted":"yesterday"}',
    b'{"type":"RECORD","stream":"s3","record":{"id":1},"time_extracted":"0001-01-01T00:00:00+14:00"}',
    b'{"type":"RECORD","stream":"s3","record":{"id":1}}{"type":"RECORD","stream":"s3","record":{"id":2}}',
    b'{"type":"RECORD","stream":"s3","record":' + b'{"a":' * 600 + b"1" + b"}" * 601,
    b'{"type":5}',
    b'{"type":"ODD","stream":5}',
    b"[]",
    b"null",
]
ODD_BUT_RIGHT = [
    b'{"type":"RECORD","stream":"s3","record":{"id":NaN}}',
    b'{"type":"RECORD","stream":"s3","record":{"id":1},"time_extracted":"2026-01-01T00:00:00"}',
    b'{"type":"RECORD","stream":"s3","record":{"id":"\\ud800"}}',
    b'{"type":"RECORD","stream":"s4","stream":"s3","record":{"id":1}}',
    b'{"type":"RECORD","stream":"s3","record":{},"record":{"id":1}}',
    b'{"type":"RECORD","stream":"s3","record":{"id":1,"id":2}}',
    b'{"type":"ODD"}',
]


@pytest.fixture(autouse=True)
def _dealt_wherever_there_are_two() -> Iterator[None]:
    with patch.object(raw, "MANY", 2), patch.object(dealing, "MOST_KEYS", 2):
        yield


Given = list[tuple[bytes, dict[str, int]]]
"""Each STATE, and how many lines of each stream the writer had been given when it came."""


def land_in_blocks(
    root: str, pieces: Iterable[bytes], room: int = BLOCK, given: Given | None = None
) -> str:
    """Returns what was wrong, as the user reads it. `room` is that of the first block."""
    landing = Landing(open_lake(root, create=True).writer(TAP_ID, options=OPTIONS), 3600, LOG)
    intake = RawIntake(landing, {}, landing.tick, LOG)
    intake.room = room
    error = ""
    try:
        with watched(landing, [] if given is None else given):
            for block in pieces:
                intake.take(block)
    except InputError as raised:
        error = f"{type(raised).__name__}: {raised}"
    finally:
        landing.writer.commit()
        intake.close()
        landing.close()
    return error


@contextmanager
def watched(landing: Landing, given: Given) -> Iterator[None]:
    counts: Counter[str] = Counter()
    append, take_state = landing.writer.append, landing.state

    def appended(stream: str, lines: bytes, summary: Summary) -> None:
        counts[stream] += lines.count(b"\n")
        append(stream, lines, summary)

    def taken(value: bytes) -> None:
        given.append((value, dict(counts)))
        take_state(value)

    with patch.object(landing.writer, "append", appended), patch.object(landing, "state", taken):
        yield


def owed(sent: Iterable[Sent]) -> Given:
    """What every STATE covers: all lines before it."""
    counts: Counter[str] = Counter()
    found: Given = []
    for one in sent:
        if is_state(one.line):
            found.append((state_value(one.line), dict(counts)))
        elif is_stored(one.line):
            counts[one.stream] += 1
    return found


def land_by_line(root: str, lines: Iterable[bytes]) -> str:
    error = ""
    with open_lake(root, create=True).writer(TAP_ID, options=OPTIONS) as writer:
        try:
            for line in lines:
                writer.write(line + b"\n")
        except InputError as raised:
            error = f"{type(raised).__name__}: {raised}"
    return error


def kept(root: str, stream: str) -> list[bytes]:
    try:
        return [_SPLICED.sub(rb"}\1", line) for line in stored(root, stream)]
    except UnknownStream:
        return []


def facts(root: str, stream: str) -> list[tuple[str, int, object, object]]:
    """Of each file whose records all came with a time: what the manifest says."""
    try:
        found = files(root, stream)
    except UnknownStream:
        return []
    return [
        (one.path.partition("/")[0], one.records, one.first, one.last)
        for one in found
        if one.records
    ]


FIRST = [
    Sent(name, schema(name, keys).encode()) for name, keys in zip(STREAMS, KEYS * 2, strict=True)
]


@settings(max_examples=40)
@given(sent_lines, st.lists(st.integers(1, 900), min_size=1, max_size=6), st.sampled_from([*WAYS]))
@example(AROUND_STATES, [900], "as it is")
@example([*AROUND_STATES, BLANK], [900], "as it is")
def test_any_mixture_is_stored_as_line_by_line(
    lines: list[Sent], sizes: list[int], way: str
) -> None:
    """And no STATE comes ahead of a line before it: its commit would be lost with that line."""
    sent = [*FIRST, *sent_as(way, lines)]
    given_in_blocks: Given = []
    given_at_once: Given = []
    data = b"".join(one.line + b"\n" for one in sent)
    in_blocks, at_once, by_line = next(_roots), next(_roots), next(_roots)
    cut = [piece for piece in blocks(Cut(data, sizes), lambda: False) if piece]
    assert land_in_blocks(in_blocks, cut, given=given_in_blocks) == ""
    assert land_in_blocks(at_once, [data], GATHERED, given_at_once) == ""
    assert given_in_blocks == given_at_once == owed(sent)
    assert land_by_line(by_line, [one.line for one in sent]) == ""
    all_timed = b'"stream"' in data and all(
        b"time_extracted" in one.line for one in sent if b'"RECORD"' in one.line
    )
    for stream in STREAMS:
        expected = [one.line for one in sent if one.stream == stream and is_stored(one.line)]
        assert kept(in_blocks, stream) == kept(at_once, stream) == kept(by_line, stream) == expected
        if all_timed:
            assert facts(in_blocks, stream) == facts(at_once, stream) == facts(by_line, stream)
    assert_clean(at_once)


@settings(max_examples=40)
@given(
    st.lists(record_lines(), min_size=4, max_size=30),
    st.sampled_from(HOSTILE),
    st.integers(0, 30),
)
def test_a_hostile_line_in_the_midst_is_refused_as_when_it_comes_alone(
    lines: list[Sent], hostile: bytes, at: int
) -> None:
    first = [Sent(name, schema(name).encode()) for name in STREAMS]
    before, behind = lines[:at], lines[at:]
    sent = [*first, *before, Sent("", hostile), *behind]
    root, alone = next(_roots), next(_roots)
    error = land_in_blocks(root, [b"".join(one.line + b"\n" for one in sent)])
    expected = land_by_line(alone, [one.line for one in sent])
    kind, _, words = expected.partition(": ")
    assert words
    assert error.startswith(f"{kind}: line {len(first) + len(before) + 1} of the input")
    assert error.endswith(words)
    for stream in STREAMS:
        all_of_it = [one.line for one in [*before, *behind] if one.stream == stream]
        first_of_it = [one.line for one in before if one.stream == stream]
        found = kept(root, stream)
        assert found[: len(first_of_it)] == first_of_it
        assert found == all_of_it[: len(found)]


@pytest.mark.parametrize("odd", ODD_BUT_RIGHT)
@settings(max_examples=40)
@given(lines=st.lists(record_lines(), min_size=4, max_size=30), at=st.integers(0, 30))
def test_an_odd_line_in_the_midst_is_taken_as_when_it_comes_alone(
    odd: bytes, lines: list[Sent], at: int
) -> None:
    sent = [schema(name).encode() for name in STREAMS]
    sent += [one.line for one in lines[:at]] + [odd] + [one.line for one in lines[at:]]
    root, alone = next(_roots), next(_roots)
    assert land_in_blocks(root, [b"".join(line + b"\n" for line in sent)]) == ""
    assert land_by_line(alone, sent) == ""
    for stream in STREAMS:
        assert kept(root, stream) == kept(alone, stream)


def test_keys_that_come_with_a_later_schema_are_looked_for() -> None:
    """Within one block, in whose decoding nobody looked for them."""
    lines = [schema(name) for name in STREAMS]
    lines += [f'{{"type":"RECORD","stream":"{name}","record":{{"id":1}}}}' for name in STREAMS]
    lines += [schema("s3", ["new"]), '{"type":"RECORD","stream":"s3","record":{"id":1}}']
    error = land_in_blocks(next(_roots), ["\n".join(lines).encode()])
    assert error.startswith("MissingKey: line 26 of the input, stream 's3': ")


def blocks_of(lines: list[str]) -> list[int]:
    """The sizes of the blocks that an intake asks for and gets."""
    data = "".join(line + "\n" for line in lines).encode()
    writer = open_lake(next(_roots), create=True).writer(TAP_ID)
    landing = Landing(writer, 3600, LOG)
    intake = RawIntake(landing, {}, landing.tick, LOG)
    sizes = []

    class Source(Cut):
        def read(self, size: int = -1) -> bytes:
            return self._data.read(size)

    for block in blocks(Source(data, [1]), lambda: False, lambda: intake.room):
        intake.take(block)
        sizes.append(len(block))
    intake.close()
    landing.close()
    return sizes


def test_blocks_are_larger_while_they_hold_many_streams() -> None:
    line = '{{"type":"RECORD","stream":"s{}","record":{{"id":1,"pad":"{}"}}}}'
    first = [schema(name) for name in STREAMS]
    many = [line.format(number % 12, "x" * 500) for number in range(20_000)]
    one = [line.format(1, "x" * 500) for _ in range(20_000)]
    sizes = blocks_of([*first, *many, *one])
    assert sizes[0] <= BLOCK
    assert max(sizes) > GATHERED - 1000
    assert all(size <= BLOCK + 1000 for size in sizes[-15:])


def test_a_gathered_block_is_stored_in_members_of_the_usual_size(tmp_path) -> None:  # type: ignore[no-untyped-def]
    from tests.target.test_blocks import members

    line = '{{"type":"RECORD","stream":"s{}","record":{{"id":1,"pad":"{}"}}}}'
    lines = [schema(name) for name in STREAMS]
    lines += [line.format(0 if number % 3 else number % 12, "x" * 500) for number in range(6000)]
    land_in_blocks(str(tmp_path), ["".join(each + "\n" for each in lines).encode()])
    (file,) = lake(tmp_path).stream(TAP_ID, "s0").snapshot().files()
    (path,) = tmp_path.rglob(file.path.rpartition("/")[2])
    sizes = [len(member) for member in members(path.read_bytes())]
    assert sum(sizes) > 4 * CHUNK
    assert all(size <= 1.1 * CHUNK for size in sizes)
