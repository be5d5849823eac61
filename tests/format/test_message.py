"""Messages: the envelope is read, the line is kept, and nobody's data stands in an error."""

from __future__ import annotations

import json
import traceback
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import BadMessage
from singerlake.format import message
from singerlake.format.message import Envelope
from tests.format.made import EPOCH, json_objects, moments, names, record_line

SECRET = "correct-horse-battery"


@given(names, json_objects, moments, st.sampled_from([None, " "]))
def test_the_envelope_of_any_record(
    stream: str, record: dict[str, Any], moment: datetime, space: str | None
) -> None:
    body = {
        "time_extracted": moment.isoformat(),
        "record": record,
        "stream": stream,
        "type": "RECORD",
    }
    separators = (",", ":") if space is None else (", ", ": ")
    line = json.dumps(body, separators=separators).encode()
    # Two surrogates side by side are one character once they are JSON.
    assert message.decode(line) == Envelope("RECORD", json.loads(line)["stream"], moment)
    assert message.record_of(line) == record


@pytest.mark.parametrize(
    ("line", "envelope"),
    [
        (b'{"type":"STATE","value":{"a":[1,{}]}}', Envelope("STATE")),
        (
            b'{"type":"ACTIVATE_VERSION","stream":"s","version":1}',
            Envelope("ACTIVATE_VERSION", "s"),
        ),
        (b'{"type":"SCHEMA","stream":"s","schema":{}}', Envelope("SCHEMA", "s")),
        (b'{"type":"BATCH","stream":null,"manifest":[]}', Envelope("BATCH")),
        (b' \t{"type" : "STATE"} \r', Envelope("STATE")),
        (b'{"type":"RECORD","stream":"s","record":{},"version":7}', Envelope("RECORD", "s")),
    ],
)
def test_the_envelope_of_other_messages(line: bytes, envelope: Envelope) -> None:
    assert message.decode(line) == envelope


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_only_python_writes_are_kept(number: str) -> None:
    line = record_line(record=b'{"a":%s}' % number.encode())
    assert message.decode(line) == Envelope("RECORD", "s", EPOCH)
    assert json.dumps(message.record_of(line)["a"]) == number


def test_lone_surrogates_are_kept() -> None:
    line = record_line(stream="\ud800", record=b'{"\\udc00":"\\ud800"}')
    assert message.decode(line) == Envelope("RECORD", "\ud800", EPOCH)
    assert message.record_of(line) == {"\udc00": "\ud800"}


@pytest.mark.parametrize("bad", [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xc0\x80"])
def test_invalid_utf8_is_refused_wherever_it_stands(bad: bytes) -> None:
    for line in (
        record_line(record=b'{"a":"%s"}' % bad),
        b'{"type":"STATE","value":"%s"}' % bad,
        b'{"type":"RECORD","stream":"%s","record":{}}' % bad,
    ):
        with pytest.raises(BadMessage, match="UTF-8"):
            message.decode(line)


@pytest.mark.parametrize("depth", [2_000, 200_000])
@pytest.mark.parametrize(("before", "after"), [(b"[", b"]"), (b'{"a":', b"}"), (b"[", b"")])
def test_deep_nesting_is_refused_and_crashes_nothing(
    before: bytes, after: bytes, depth: int
) -> None:
    deep = before * depth + b"1" + after * depth
    with pytest.raises(BadMessage):
        message.decode(record_line(record=b'{"a":%s}' % deep))
    with pytest.raises(BadMessage):
        message.decode(deep)
    with pytest.raises(BadMessage):
        message.decode_schema(b'{"type":"SCHEMA","stream":"s","schema":{"a":%s}}' % deep)


def test_of_a_repeated_key_the_last_one_counts() -> None:
    line = (
        b'{"type":"STATE","type":"RECORD","stream":"a","stream":"b","record":{"x":1},'
        b'"record":{"x":2,"x":3},"time_extracted":"2020-01-01T00:00:00Z",'
        b'"time_extracted":"2026-01-01T00:00:00Z"}'
    )
    assert message.decode(line) == Envelope("RECORD", "b", EPOCH)
    assert message.record_of(line) == {"x": 3}
    # The tolerant decoder agrees with the quick one.
    assert message.decode(line.replace(b'"x":1', b'"x":NaN')) == Envelope("RECORD", "b", EPOCH)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("2026-01-01T00:00:00Z", 0),
        ("2026-01-01T00:00:00+00:00", 0),
        ("2026-01-01T00:00:00+0000", 0),
        ("2026-01-01t00:00:00z", 0),
        ("2026-01-01T05:30:00+05:30", 0),
        ("2025-12-31T16:00:00-08:00", 0),
        ("2026-01-01T00:00:00", 0),
        ("2026-01-01 00:00:00.5", 500_000),
        ("2026-01-01T00:00:00.000001Z", 1),
        ("2026-01-01T00:00:00.123456789Z", 123_457),
        ("2026-01-01T00:00:00.123456489Z", 123_456),
        ("2025-12-31T23:59:59.9999999Z", 0),
    ],
)
@pytest.mark.parametrize("record", [b"{}", b'{"a":NaN}'], ids=["quick", "tolerant"])
def test_every_form_of_a_time_is_the_same_moment_in_utc(
    text: str, micros: int, record: bytes
) -> None:
    moment = message.decode(record_line(record=record, time_extracted=text)).time_extracted
    assert moment == EPOCH + timedelta(microseconds=micros)
    assert moment is not None
    assert moment.utcoffset() == timedelta(0)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "2026-01-01",
        "2026-13-01T00:00:00Z",
        "2026-01-01T23:59:60Z",
        "0001-01-01T00:00:00+14:00",
        "9999-12-31T23:59:59-14:00",
        "9999-12-31T23:59:59.9999999Z",
    ],
)
@pytest.mark.parametrize("record", [b"{}", b'{"a":NaN}'], ids=["quick", "tolerant"])
def test_a_time_that_is_none_is_refused(text: str, record: bytes) -> None:
    with pytest.raises(BadMessage, match="time_extracted"):
        message.decode(record_line(record=record, time_extracted=text))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"RECORD"',
        b"{}",
        b'{"type":1}',
        b'{"type":"RECORD","record":{}}',
        b'{"type":"RECORD","stream":"","record":{}}',
        b'{"type":"RECORD","stream":5,"record":{}}',
        b'{"type":"RECORD","stream":"s"}',
        b'{"type":"RECORD","stream":"s","record":null}',
        b'{"type":"RECORD","stream":"s","record":[{}]}',
        b'{"type":"RECORD","stream":"s","record":[NaN]}',
        b'{"type":"RECORD","stream":"s","record":"{}"}',
        b'{"type":"RECORD","stream":"s","record":{},"time_extracted":1767225600}',
        b'{"type":"SCHEMA","schema":{}}',
        b'{"type":"ACTIVATE_VERSION","version":1}',
        b'{"type":"RECORD","stream":"s","record":{}} {}',
        b'{"type":"RECORD","stream":"s","record":{}}{"type":"STATE"}',
        b'{"type":"RECORD","stream":"s","record":{"a":"\t"}}',
        b'{"type":"RECORD","stream":"s","record":{"a":01}}',
        b'{"type":"RECORD","stream":"s","record":{"a":"\\q"}}',
        b"\xef\xbb\xbf" + record_line(),
    ],
)
def test_what_is_not_a_singer_message_is_refused(line: bytes) -> None:
    with pytest.raises(BadMessage):
        message.decode(line)


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"SCHEMA","stream":"s"}',
        b'{"type":"SCHEMA","stream":"s","schema":[]}',
        b'{"type":"SCHEMA","stream":"s","schema":{},"key_properties":"id"}',
        b'{"type":"SCHEMA","stream":"s","schema":{},"key_properties":[1]}',
        pytest.param(
            b'{"type":"SCHEMA","stream":"s","schema":{"maximum":%s}}' % (b"9" * 5000),
            id="5000 digits",
        ),
        b'{"type":"SCHEMA"',
    ],
)
def test_what_declares_no_schema_is_refused(line: bytes) -> None:
    with pytest.raises(BadMessage):
        message.decode_schema(line)


def test_a_number_of_any_length_is_kept_though_python_may_not_read_it() -> None:
    digits = b"9" * 5000
    assert message.decode(record_line(record=b'{"a":%s}' % digits)).type == "RECORD"
    with pytest.raises(BadMessage, match="digits"):
        message.record_of(record_line(record=b'{"a":%s}' % digits))
    with pytest.raises(BadMessage, match="digits"):
        message.decode(record_line(record=b'{"a":%s,"b":NaN}' % digits))


@pytest.mark.parametrize(
    "line",
    [
        b'{"type":"RECORD","stream":"s","record":{"password":"%s"}',
        b'{"type":"RECORD","stream":"s","record":"%s"}',
        b'{"type":"RECORD","stream":"s","record":["%s"]}',
        b'{"type":"RECORD","stream":"s","record":{"password":"%s\t"}}',
        b'{"type":"RECORD","stream":"s","record":{"password":"%s\\q"}}',
        b'{"type":"RECORD","stream":"s","record":{"password":"%s\xff"}}',
        b'{"type":"RECORD","stream":"s","record":{"password":"%s"}}{}',
        b'{"type":"RECORD","record":{"password":"%s"}}',
        b'{"type":"RECORD","stream":7,"record":{"password":"%s"}}',
        b'{"type":"RECORD","stream":"s","record":{"password":"%s","n":NaN},"time_extracted":"x"}',
        b'{"type":"RECORD","stream":"s","record":{"%s":1,},"time_extracted":"x"}',
        b'{"type":"RECORD","stream":"s","time_extracted":"%s","record":{}}',
    ],
)
def test_an_error_never_shows_what_a_record_holds(line: bytes) -> None:
    with pytest.raises(BadMessage) as caught:
        message.decode(line % SECRET.encode())
    shown = "".join(traceback.format_exception_only(caught.type, caught.value))
    assert SECRET not in shown
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@given(
    json_objects,
    moments,
    st.sampled_from([b"", b"\r", b" ", b"\t \r"]),
    st.sampled_from([b"", b" ", b',"time_extracted":null', b',"x":{"}":"}"}', b',"version":1 ']),
)
def test_with_time_changes_nothing_but_the_splice(
    record: dict[str, Any], moment: datetime, end: bytes, more: bytes
) -> None:
    line = record_line(record=json.dumps(record).encode(), time_extracted=None)[:-1]
    line += more + b"}" + end
    spliced = message.with_time(line, moment)
    cut = line.rindex(b"}")
    assert spliced[:cut] == line[:cut]
    assert spliced.endswith(line[cut:])
    assert spliced[cut : len(spliced) - len(line[cut:])].startswith(b',"time_extracted":"')
    before, after = json.loads(line), json.loads(spliced)
    assert after.pop("time_extracted") is not None
    before.pop("time_extracted", None)
    assert after == before
    assert message.decode(spliced) == Envelope("RECORD", "s", moment)


def test_the_time_spliced_in_is_utc_to_the_microsecond() -> None:
    moment = datetime(2026, 1, 1, 5, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert message.with_time(b'{"type":"RECORD"}\r', moment) == (
        b'{"type":"RECORD","time_extracted":"2026-01-01T00:00:00.000000Z"}\r'
    )


def test_half_a_surrogate_pair_outside_the_record_is_refused() -> None:
    line = b'{"type":"RECORD","stream":"s","record":{"a":NaN},"time_extracted":"\\ud800"}'
    with pytest.raises(BadMessage, match="surrogate"):
        message.decode(line)
