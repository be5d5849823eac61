"""Decoding without Spark: what fits its type, what does not, and what is a row."""

from __future__ import annotations

import math
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pytest

from singerlake.decode.arrow_type import arrow_schema
from singerlake.decode.batch import Decoder
from singerlake.decode.request import FileFacts, Wanted
from singerlake.errors import CorruptFile, TooManyMisfits
from singerlake.format import record_type as types
from singerlake.format.nesting import DEEPEST_LINE
from singerlake.format.record_type import Type
from tests.decode.decoding import decoded, decoder, rows_of
from tests.spark.lakes import activate_line, record_line, schema_line

UTC = timezone.utc


def value(kind: Type, text: str) -> Any:
    """The one value, by the parser that decides; ... where it does not fit."""
    [row] = decoded({"a": kind}, [f'{{"a":{text}}}'], tolerant=True)
    return ... if row["_corrupt_record"] else row["a"]


MOMENT = datetime(2026, 11, 16, 2, 54, 14, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (types.LONG, "5", 5),
        (types.LONG, "5.0", 5),
        (types.LONG, "5e3", 5000),
        (types.LONG, str(2**63 - 1), 2**63 - 1),
        (types.LONG, str(2**63), ...),
        (types.LONG, "1e999999999", ...),
        (types.LONG, "1.5", ...),
        (types.LONG, '"5"', ...),
        (types.LONG, "true", ...),
        (types.LONG, "null", None),
        (types.DOUBLE, "1", 1.0),
        (types.DOUBLE, "0.1", 0.1),
        (types.DOUBLE, "1e400", ...),
        (types.DOUBLE, "Infinity", math.inf),
        (types.DOUBLE, '"1.5"', 1.5),
        (types.DOUBLE, '"x"', ...),
        (types.DOUBLE, "true", ...),
        (types.decimal(8, 2), "1.5", Decimal("1.50")),
        (types.decimal(8, 2), '"1.50"', Decimal("1.50")),
        (types.decimal(8, 2), "1.555", ...),
        (types.decimal(8, 2), "1234567", ...),
        (types.decimal(8, 2), "NaN", ...),
        (types.decimal(38, 0), "9" * 38, Decimal("9" * 38)),
        (types.decimal(38, 0), "1e38", ...),
        (types.BOOLEAN, "false", False),
        (types.BOOLEAN, "0", ...),
        (types.STRING, '"é\\n"', "é\n"),
        (types.STRING, "5", ...),
        (types.STRING, '"\\ud800"', ...),
        (types.TEXT, '"5"', "5"),
        (types.TEXT, "5.0", "5.0"),
        (types.TEXT, "12345678901234567890.123", "12345678901234567890.123"),
        (types.JSON, '"5"', '"5"'),
        (types.JSON, '{"a": [1.50, 1e2]}', '{"a": [1.50, 1e2]}'),
        (types.JSON, '{"a": [1.50, NaN]}', '{"a":[1.50,NaN]}'),
        (types.TIMESTAMP, '"2026-11-16T02:54:14Z"', MOMENT),
        (types.TIMESTAMP, '"2026-11-16T04:54:14+02:00"', MOMENT),
        (types.TIMESTAMP, '"2026-11-16 02:54:14"', MOMENT),
        (types.TIMESTAMP, '"2026-11-16T02:54:14.0000005Z"', MOMENT.replace(microsecond=1)),
        (types.TIMESTAMP, '"2026-11-16"', datetime(2026, 11, 16, tzinfo=UTC)),
        (types.TIMESTAMP, '"0000-11-16T00:00:00Z"', ...),
        (types.TIMESTAMP, '"2026-11-31T00:00:00Z"', ...),
        (types.TIMESTAMP, "1700000000", ...),
        (types.DATE, '"2026-11-16"', date(2026, 11, 16)),
        (types.DATE, '"2026-11-16T00:00:00+02:00"', date(2026, 11, 16)),
        (types.DATE, '"2026-11-16T01:00:00Z"', ...),
        (types.DATE, '"2026-11-15T23:59:59.9999999Z"', ...),
        (types.DATE, '"2026-11-16T00:00:00.0000001Z"', ...),
        (types.DATE, "5", ...),
        (types.array(types.LONG), "[1,null,3]", [1, None, 3]),
        (types.array(types.LONG), "{}", ...),
        (types.mapping(types.LONG), '{"x":1,"y":null}', {"x": 1, "y": None}),
        (types.struct({"x": types.LONG}), '{"x":1,"z":2}', {"x": 1}),
        (types.struct({"x": types.JSON}), '{"x":[NaN]}', {"x": "[NaN]"}),
        (types.NULL, "null", None),
        (types.NULL, "5", "5"),
    ],
)
def test_what_fits(kind: Type, text: str, expected: Any) -> None:
    assert value(kind, text) == expected


def test_nan_fits_a_double() -> None:
    assert math.isnan(value(types.DOUBLE, "NaN"))


def test_only_the_part_that_does_not_fit_is_null() -> None:
    columns = {"a": types.struct({"x": types.LONG, "y": types.array(types.LONG)}), "b": types.LONG}
    record = '{"a": {"x": "no", "y": [1, "no"]}, "b": 7}'
    [row] = decoded(columns, [record])
    assert row["a"] == {"x": None, "y": [1, None]}
    assert row["b"] == 7
    assert row["_corrupt_record"] == record


@pytest.mark.parametrize("more", ["", ', "x": NaN', ', "a\'b": 1'])
def test_what_does_not_fit_is_kept_as_it_was_sent(more: str) -> None:
    columns = {"a": types.LONG, "b": types.array(types.LONG), "c": types.LONG, "d": types.LONG}
    record = f'{{"a": 0.12345678901234567891, "b": [1, "\\u0041"], "c": 7{more}}}'
    [misfit, fits] = rows_of(columns, [record_line(record), record_line("{}")], ("_misfits",))
    assert misfit.pop("_misfits") == {"a": "0.12345678901234567891", "b": '[1,"A"]'}
    assert misfit == {"a": None, "b": [1, None], "c": 7, "d": None}
    assert fits.pop("_misfits") is None
    [only] = rows_of(columns, [record_line("{}")], ("_misfits",))
    assert only["_misfits"] is None


def test_bytes_that_are_not_utf_8_do_not_fit() -> None:
    """Two such values stay apart, as keys have to."""
    columns = {"a": types.STRING, "b": types.LONG}
    lines = [
        record_line('{"a":"?","b":1}').replace(b"?", bad) for bad in (b"\xff", b"\xfe", b"fine")
    ]
    found = rows_of(columns, lines, ("_corrupt_record", "_misfits"))
    assert [(row["a"], row["b"]) for row in found] == [(None, 1), (None, 1), ("fine", 1)]
    assert [row["_corrupt_record"] for row in found] == ['{"a":"\ufffd","b":1}'] * 2 + [None]
    assert [row["_misfits"] for row in found] == [{"a": '"\\xff"'}, {"a": '"\\xfe"'}, None]
    with pytest.raises(TooManyMisfits, match="line 2"):
        rows_of(columns, lines, (), limit=0)


def test_too_many_misfits_are_named_with_an_example() -> None:
    columns = {"a": types.struct({"x": types.LONG}), "b": types.DATE}
    records = ['{"a":{"x":1}}', '{"a":{"x":"no"}}', '{"a":7,"b":"soon"}']
    assert len(decoded(columns, records, limit=3)) == 3
    with pytest.raises(TooManyMisfits) as raised:
        decoded(columns, records, limit=2)
    assert str(raised.value).startswith(
        "3 values do not fit their columns, and 2 are allowed: a (struct<x:bigint>) 2, such as "
        '"no" at a.x in the file, line 3; b (date) 1, such as "soon" in the file, line 4. '
    )


@pytest.mark.parametrize("tolerant", [False, True])
def test_every_misfit_is_counted(tolerant: bool) -> None:
    """Also that of a metadata column, and a line that is no record at all."""
    columns = {"a": types.LONG, "b": types.array(types.LONG)}
    made = decoder(columns, metadata=("_version",))
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    lines = [
        schema_line({}),
        record_line('{"a":1.5,"b":[1]}'),
        record_line('{"a":null,"b":["x","y"]}'),
        b'{"type":"RECORD","record":{"a":2},"version":"x"}',
        b"{}",
    ]
    assert sum(b.num_rows for b in made.batches(FileFacts("f", {}), [b"\n".join(lines)])) == 4
    assert made.misfits.counts == {"a": 1, "b": 1, "_version": 1, "_corrupt_record": 1}
    assert made.misfits.found["b"].example == '["x","y"]'


def test_rows_outside_of_the_time_are_not_counted() -> None:
    start = datetime(2026, 1, 2, tzinfo=timezone.utc)
    made = Decoder(Wanted((("a", types.LONG),), start=start), arrow_schema([("a", types.LONG)], ()))
    times = ("2026-01-01T00:00:00Z", "2026-01-03T00:00:00Z")
    lines = [schema_line({}), *(record_line('{"a":"x"}', time) for time in times)]
    [batch] = made.batches(FileFacts("f", {}, in_time=False), [b"\n".join(lines)])
    assert (batch.num_rows, made.misfits.total) == (1, 1)


@pytest.mark.parametrize("tolerant", [False, True])
def test_what_is_no_record_is_no_row(tolerant: bool) -> None:
    made = decoder({"a": types.LONG}, metadata=("_position", "_version", "_time_extracted"))
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    lines = [
        schema_line({}),
        record_line({"a": 1}, version=7),
        activate_line(7),
        record_line({"a": 2, "b": "ACTIVATE_VERSION"}),
    ]
    [batch] = made.batches(FileFacts("f", {}), [b"\n".join(lines) + b"\n"])
    assert batch.column("_position").to_pylist() == [2, 4]
    assert batch.column("_version").to_pylist() == [7, None]
    assert batch.column("_time_extracted").to_pylist() == [datetime(2026, 1, 1, tzinfo=UTC)] * 2


def test_a_line_that_is_no_message_is_kept_as_text() -> None:
    made = decoder({"a": types.LONG})
    lines = [schema_line({}), b'{"type":"RECORD"', record_line({"a": 1}), b'{"a":1}{"a":2}', b""]
    [batch] = made.batches(FileFacts("f", {}), [b"\n".join(lines) + b"\n"])
    assert batch.column("a").to_pylist() == [None, 1, None]
    assert batch.column("_corrupt_record").to_pylist() == [
        '{"type":"RECORD"',
        None,
        '{"a":1}{"a":2}',
    ]


@pytest.mark.parametrize(("begin", "end"), [("[", "]"), ('{"":', "}"), ('[{"":', "}]")])
@pytest.mark.parametrize("tolerant", [False, True])
def test_a_line_that_the_lake_calls_too_deep_is_no_row(
    tolerant: bool, begin: str, end: str
) -> None:
    """However deep this Python's parsers go."""
    made = decoder({"a": types.LONG})
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    lines = [schema_line({})]
    for levels in (DEEPEST_LINE, DEEPEST_LINE + 1):
        times, odd = divmod(levels - 2, len(end))
        nested = "[" * odd + begin * times + ("1" if ":" in begin else "") + end * times + "]" * odd
        lines.append(record_line(f'{{"a":1,"b":{nested}}}'))
    [batch] = made.batches(FileFacts("f", {}), [b"\n".join(lines) + b"\n"])
    assert batch.column("a").to_pylist() == [1, None]
    assert batch.column("_corrupt_record").is_null().to_pylist() == [True, False]


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize(
    "lines",
    [
        pytest.param([b"%(one)s%(two)s", b""], id="two on a line, and a blank one"),
        pytest.param([b"%(one)s %(two)s", b"%(begun)s", b"%(ended)s"], id="one on two lines"),
    ],
)
def test_a_message_that_is_not_on_a_line_of_its_own_is_no_row(
    lines: list[bytes], tolerant: bool
) -> None:
    """As many messages as lines, and yet not one on each."""
    one, two = record_line({"a": 1}), record_line({"a": 2})
    texts = {b"one": one, b"two": two, b"begun": one[:-1], b"ended": b"}"}
    made = decoder({"a": types.LONG})
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    whole = b"\n".join([schema_line({}), *(line % texts for line in lines)]) + b"\n"
    [batch] = made.batches(FileFacts("f", {}), [whole])
    assert batch.column("a").null_count == batch.num_rows > 0
    assert batch.column("_corrupt_record").null_count == 0


@pytest.mark.parametrize("tolerant", [False, True])
def test_lines_that_end_with_a_carriage_return_too(tolerant: bool) -> None:
    made = decoder({"a": types.LONG})
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    lines = [schema_line({}), record_line({"a": 1}), record_line({"a": 2})]
    [batch] = made.batches(FileFacts("f", {}), [b"\r\n".join(lines) + b"\r\n"])
    assert batch.column("a").to_pylist() == [1, 2]


@pytest.mark.parametrize("tolerant", [False, True])
def test_properties_named_like_metadata(tolerant: bool) -> None:
    names = ("type", "_position", "_record", "_time_extracted")
    made = decoder({name: types.LONG for name in names}, metadata=("_version",))
    if tolerant:
        made._blocks.rows = lambda *_: None  # type: ignore[method-assign]
    lines = [schema_line({}), record_line(dict.fromkeys(names, 7)), activate_line(1)]
    [batch] = made.batches(FileFacts("f", {}), [b"\n".join(lines) + b"\n"])
    assert batch.to_pylist() == [{**dict.fromkeys(names, 7), "_version": None}]


def test_of_equal_keys_the_last_counts() -> None:
    [row] = decoded({"a": types.LONG}, ['{"a":1,"a":2}'])
    assert (row["a"], row["_corrupt_record"]) == (2, None)


def test_a_file_without_its_schema_line_is_refused() -> None:
    with pytest.raises(CorruptFile, match="expected the SCHEMA line first, found RECORD"):
        list(decoder({}).batches(FileFacts("f", {}), [record_line({})]))


def test_times_outside_the_wanted_ones_are_left_out() -> None:
    wanted = Wanted((("a", types.LONG),), (), start=MOMENT, end=datetime(2026, 11, 17, tzinfo=UTC))
    made = Decoder(wanted, arrow_schema([("a", types.LONG)], ()))
    times = ["2026-11-16T02:54:13Z", "2026-11-16T02:54:14Z", "2026-11-17T00:00:00Z"]
    lines = [schema_line({}), *(record_line({"a": n}, time) for n, time in enumerate(times))]
    [batch] = made.batches(FileFacts("f", {}, in_time=False), [b"\n".join(lines) + b"\n"])
    assert batch.column("a").to_pylist() == [1]


def test_lines_of_a_merged_file_have_their_own_sequence() -> None:
    made = Decoder(Wanted((), ("_sequence",)), arrow_schema((), ("_sequence",)))
    lines = [schema_line({}), *(record_line({}) for _ in range(4))]
    whole = FileFacts("f", {"_sequence": 9}, parts=((5, 1), (7, 3), (9, 2)))
    [batch] = made.batches(whole, [b"\n".join(lines) + b"\n"])
    assert batch.column("_sequence").to_pylist() == [5, 7, 7, 7]
    part = FileFacts("f", {"_sequence": 9}, parts=((5, 1), (7, 3), (9, 2)), ranges=((2, 4),))
    [batch] = made.batches(part, [b"\n".join(lines) + b"\n"])
    assert batch.column("_sequence").to_pylist() == [7, 7, 9, 9]


def test_a_merged_file_with_more_lines_than_its_parts_is_corrupt() -> None:
    made = Decoder(Wanted((), ("_sequence",)), arrow_schema((), ("_sequence",)))
    lines = [schema_line({}), *(record_line({}) for _ in range(4))]
    told = FileFacts("f", {"_sequence": 9}, parts=((5, 1), (7, 2)))
    with pytest.raises(CorruptFile, match=r"^f: expected 3 lines"):
        list(made.batches(told, [b"\n".join(lines) + b"\n"]))


@pytest.mark.parametrize("inner", [types.struct({}), types.struct({"x": types.struct({})})])
def test_an_object_of_no_columns(inner: Type) -> None:
    """As a user's own schema may ask for it."""
    [row] = decoded({"a": inner}, ['{"a":{"x":{}}}'])
    assert row["a"] == ({"x": {}} if inner.fields else {})


@pytest.mark.parametrize("text", ["0000-01-01", "0000-12-31T23:00:00Z"])
def test_a_year_that_no_calendar_has_does_not_fit(text: str) -> None:
    for kind in (types.DATE, types.TIMESTAMP):
        [row] = decoded({"a": kind}, [f'{{"a":"{text}"}}'])
        assert (row["a"], row["_corrupt_record"]) == (None, f'{{"a":"{text}"}}')
