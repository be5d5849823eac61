"""Blocks: many lines at once give what they give one by one."""

from __future__ import annotations

import json
from datetime import datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import BadMessage
from singerlake.format import block, message
from singerlake.format.block import Summary
from tests.format.made import EPOCH, moments, record_line, schema_line

RECORD = record_line()

forms = st.sampled_from(
    [
        lambda moment: moment.isoformat(),
        lambda moment: moment.isoformat().replace("+00:00", "Z"),
        lambda moment: moment.replace(tzinfo=None).isoformat(),
        lambda moment: moment.replace(tzinfo=None).isoformat(sep=" ") + "Z",
        lambda moment: moment.astimezone(timezone(timedelta(hours=5, minutes=30))).isoformat(),
        lambda moment: moment.astimezone(timezone(timedelta(hours=-8))).isoformat(),
        lambda moment: None,
    ]
)
records = st.sampled_from(
    [b"{}", b'{"id":1}', b'{"n":NaN}', b'{"s":"\\ud800"}', '{"ü":"🌊"}'.encode(), b'{"a":{"b":[]}}']
)
record_lines = st.builds(
    lambda record, moment, form: record_line(record=record, time_extracted=form(moment)),
    records,
    moments,
    forms,
)
plain_lines = st.builds(lambda moment: record_line(time_extracted=moment.isoformat()), moments)
other_lines = st.sampled_from([b'{"type":"ACTIVATE_VERSION","stream":"s","version":1}', b"", b" "])
line_ends = st.sampled_from([b"\n", b"\r\n"])


def oracle(data: bytes) -> Summary:
    """The same by Python's own json and datetime."""
    found, count = [], 0
    for line in data.decode().split("\n"):
        if not line.strip():
            continue
        message = json.loads(line)
        if message["type"] == "RECORD":
            count += 1
            text = message.get("time_extracted")
            if text is not None:
                moment = datetime.fromisoformat(text.replace("Z", "+00:00"))
                found.append(moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc))
    return Summary(count, len(found), min(found, default=None), max(found, default=None))


@given(
    st.lists(plain_lines, max_size=6) | st.lists(record_lines | plain_lines | other_lines),
    st.lists(line_ends, min_size=1, max_size=3),
    st.booleans(),
)
def test_a_block_is_summarised_as_python_would(
    lines: list[bytes], ends: list[bytes], has_final_feed: bool
) -> None:
    data = b"".join(line + ends[at % len(ends)] for at, line in enumerate(lines))
    if not has_final_feed:
        data = data.rstrip(b"\r\n")
    summary = block.summarise(data, "s")
    assert summary == oracle(data)
    for moment in (summary.first, summary.last):
        assert moment is None or moment.utcoffset() == timedelta(0)


@given(st.lists(record_lines, max_size=5), st.lists(record_lines, max_size=5))
def test_the_sum_of_two_summaries_is_that_of_both_blocks(
    one: list[bytes], other: list[bytes]
) -> None:
    first, second = (b"".join(line + b"\n" for line in lines) for lines in (one, other))
    together = block.summarise(first + second, "s")
    assert block.summarise(first, "s") + block.summarise(second, "s") == together


@pytest.mark.parametrize(
    "foreign",
    [
        record_line("other"),
        schema_line(),
        b'{"type":"STATE","value":{}}',
        b'{"type":"BATCH","stream":"s"}',
        b'{"type":"ACTIVATE_VERSION","stream":"other"}',
        b"not JSON",
        RECORD.replace(b'"type":"RECORD",', b""),
        b'{"type":"RECORD","stream":"s","record":{"a":"\xff"},"time_extracted":"2026-01-01T00:00Z"}',
        record_line(record=b'{"a":"\xff"}'),
        record_line(record=b"null"),
        record_line(record=b"[]"),
        record_line(record=b"5"),
        record_line(time_extracted="0001-01-01T00:00:00+14:00"),
        RECORD[:-1],
    ],
)
@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_line_that_does_not_belong_there_is_refused(foreign: bytes, position: int) -> None:
    lines = [RECORD, RECORD]
    lines.insert(position, foreign)
    with pytest.raises(BadMessage):
        block.summarise(b"\n".join(lines) + b"\n", "s")


@pytest.mark.parametrize("separator", [b"", b" ", b"\t", b"\r"])
@pytest.mark.parametrize(
    "end", [b"", b"\n", b"\n\n", b"\n \n", b"\r\n\r\n", b"\n" + RECORD + b"\n\n"]
)
@pytest.mark.parametrize("start", [b"", b"\n", b"\r\n", b" \n"])
def test_two_objects_on_one_line_are_refused(separator: bytes, end: bytes, start: bytes) -> None:
    with pytest.raises(BadMessage):
        block.summarise(start + RECORD + separator + RECORD + end, "s")


@pytest.mark.parametrize("feed", [b"\n", b"\r\n"])
def test_an_object_on_two_lines_is_refused(feed: bytes) -> None:
    broken = RECORD.replace(b'"record":', b'"record":' + feed)
    for data in (broken, broken + feed + RECORD + RECORD, RECORD + RECORD + feed + broken + feed):
        with pytest.raises(BadMessage):
            block.summarise(data, "s")


def test_deep_nesting_in_a_block_is_refused_and_crashes_nothing() -> None:
    deep = record_line(record=b'{"a":%s1%s}' % (b"[" * 200_000, b"]" * 200_000))
    with pytest.raises(BadMessage):
        block.summarise(RECORD + b"\n" + deep + b"\n", "s")


def test_a_refusal_says_what_and_where_but_shows_no_data() -> None:
    lines = [RECORD, record_line("other", b'{"password":"correct-horse"}')]
    with pytest.raises(
        BadMessage, match=r"stream 's', found RECORD of 'other' in line 2"
    ) as caught:
        block.summarise(b"\n".join(lines), "s")
    assert "correct-horse" not in str(caught.value)


def test_nothing_is_summarised_as_nothing() -> None:
    assert block.summarise(b"", "s") == Summary()
    assert block.summarise(b"\n \n\r\n", "s") == Summary()
    assert Summary() + Summary(1, 1, EPOCH, EPOCH) == Summary(1, 1, EPOCH, EPOCH)


@given(st.lists(plain_lines | record_lines, min_size=1, max_size=5), line_ends, st.booleans())
def test_the_quick_decoder_is_right_or_leaves_it_to_the_other(
    lines: list[bytes], end: bytes, has_final_feed: bool
) -> None:
    data = end.join(lines) + (end if has_final_feed else b"")
    quick = block.RecordDecoder("s").summarise(data)
    assert quick is None or quick == oracle(data)


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_plain_blocks_take_the_quick_way(end: bytes) -> None:
    for data in (RECORD, RECORD + end, RECORD + end + RECORD + end, (RECORD + end) * 100):
        assert block.RecordDecoder("s").summarise(data) == oracle(data)


@given(st.lists(st.text(max_size=6), max_size=3), st.sets(st.text(max_size=6), max_size=3))
def test_with_keys_the_quick_decoder_takes_only_records_that_hold_them(
    keys: list[str], held: set[str]
) -> None:
    line = record_line(record=json.dumps(dict.fromkeys(held, 1)).encode())
    quick = block.RecordDecoder("s", keys).summarise(line)
    assert quick is None or set(keys) <= held
    if set(keys) <= held and all(key.isalnum() for key in keys):
        assert quick == oracle(line)


@given(st.lists(plain_lines, min_size=1, max_size=4), moments, st.booleans())
def test_times_are_spliced_into_a_block_as_into_each_line(
    lines: list[bytes], moment: datetime, has_final_feed: bool
) -> None:
    data = b"\n".join(lines) + (b"\n" if has_final_feed else b"")
    expected = b"".join(message.with_time(line, moment) + b"\n" for line in lines)
    assert message.with_times(data, moment) == expected


@given(
    st.lists(plain_lines, min_size=1, max_size=9), st.integers(0, 3), st.none() | st.integers(4, 5)
)
def test_pieces_of_a_block_fill_each_file_and_keep_every_byte(
    lines: list[bytes], held: int, most: int | None
) -> None:
    data = b"".join(line + b"\n" for line in lines)
    pieces = list(block.pieces("s", data, block.summarise(data, "s"), held, most))
    assert b"".join(piece for piece, _ in pieces) == data
    assert all(summary == block.summarise(piece, "s") for piece, summary in pieces)
    counts = [summary.records for _, summary in pieces]
    if most is not None:
        assert counts[0] == min(most - held, len(lines))
        assert all(count == most for count in counts[1:-1])
        assert counts[-1] <= most


@pytest.mark.parametrize("data", [RECORD + b"\r\n", RECORD + b" \n" + RECORD, RECORD + b"\n\n"])
def test_times_are_spliced_into_odd_lines_one_by_one(data: bytes) -> None:
    assert message.with_times(data, EPOCH) is None
