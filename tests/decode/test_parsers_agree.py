"""The block parser says what the tolerant one says, or leaves it to that."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from singerlake.decode.request import FileFacts
from singerlake.format import record_type as types
from singerlake.format.record_type import Type
from tests.decode.decoding import decoded, decoder, rows_of
from tests.spark.lakes import activate_line, record_line, schema_line

SCALARS = {
    "long": (types.LONG, st.integers(-(2**63), 2**63 - 1)),
    "double": (types.DOUBLE, st.floats(allow_nan=False, allow_infinity=False) | st.integers()),
    "decimal": (types.decimal(12, 3), st.decimals(-(10**8), 10**8, places=3).map(float)),
    "boolean": (types.BOOLEAN, st.booleans()),
    "string": (types.STRING, st.text(st.characters(exclude_categories=["Cs"]))),
    "timestamp": (
        types.TIMESTAMP,
        st.datetimes(min_value=datetime(2, 1, 1), max_value=datetime(9998, 1, 1)).flatmap(
            lambda m: st.sampled_from(["", "Z", "+02:00", "-0930", "+05"]).map(
                lambda zone: m.isoformat() + zone
            )
        ),
    ),
    "date": (types.DATE, st.dates().map(date.isoformat)),
    "text": (types.TEXT, st.integers() | st.text(st.characters(exclude_categories=["Cs"]))),
    "json": (types.JSON, st.recursive(st.none() | st.integers() | st.text("ab"), st.lists)),
}


ANYTHING = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.sampled_from("xyz"), st.integers(), max_size=2),
    st.sampled_from(["2026-11-16", "2026-11-16T02:54", "1e3", "1.", "+5", "2026-11-16T02:54:14z"]),
)


@st.composite
def typed_values(draw: st.DrawFn, depth: int = 0) -> tuple[Type, st.SearchStrategy[Any]]:
    """A type, and values that mostly fit it."""
    shape = draw(st.sampled_from([*SCALARS, *(("array", "map", "struct") if depth < 2 else ())]))
    if shape in SCALARS:
        kind, values = SCALARS[shape]
        return kind, st.none() | values
    if shape == "struct":
        names = draw(st.lists(st.sampled_from(["x", "y", "Größe", 'q"']), unique=True, min_size=1))
        inner = {name: draw(typed_values(depth + 1)) for name in names}
        values = st.fixed_dictionaries({}, optional={n: v for n, (_, v) in inner.items()})
        return types.struct({n: k for n, (k, _) in inner.items()}), st.none() | values
    kind, values = draw(typed_values(depth + 1))
    if shape == "array":
        return types.array(kind), st.none() | st.lists(values, max_size=3)
    return types.mapping(kind), st.none() | st.dictionaries(
        st.sampled_from(["a", "b", "é"]), values, max_size=3
    )


ODD_MESSAGES = [
    activate_line(7),
    record_line({}, version=7),
    record_line({}, time="2026-11-16"),
    b'{"type":"RECORD"}',
    b'{"record":null}',
    b"{}",
    rb'{"type":"ACTIVATE\u005fVERSION","record":{"id":1}}',
    b'{"type":null,"record":{}}',
    b'{"type":"RECORD","record":{},"version":1.0,"time_extracted":null}',
]


ASKED_FOR = ("_version", "_time_extracted", "_corrupt_record", "_record")


@given(st.data())
def test_both_parsers_agree(data: st.DataObject) -> None:
    names = data.draw(st.lists(st.sampled_from(["id", "a b", "é", 'q"']), unique=True, min_size=1))
    columns = {name: data.draw(typed_values()) for name in names}
    wild = data.draw(st.booleans())
    records = [
        {
            name: data.draw(ANYTHING if wild and data.draw(st.booleans()) else values)
            for name, (_, values) in columns.items()
            if data.draw(st.integers(0, 9))
        }
        for _ in range(data.draw(st.integers(1, 4)))
    ]
    texts = [json.dumps(record, ensure_ascii=data.draw(st.booleans())) for record in records]
    kinds = {name: kind for name, (kind, _) in columns.items()}
    fast, tolerant = decoded(kinds, texts), decoded(kinds, texts, tolerant=True)
    assert repr(fast) == repr(tolerant)
    lines = list(map(record_line, texts)) + data.draw(st.lists(st.sampled_from(ODD_MESSAGES)))
    asked = ("_position", *data.draw(st.lists(st.sampled_from(ASKED_FOR), unique=True)))
    one, other = (rows_of(kinds, lines, asked, tolerant) for tolerant in (False, True))
    assert repr(one) == repr(other)
    for row, text in zip(fast, texts, strict=True):
        # Only Python's json reads these, and it does not tell where they stood.
        assert row["_record"] == text or "NaN" in text or "Infinity" in text


@st.composite
def decimal_types(draw: st.DrawFn) -> Type:
    precision = draw(st.integers(1, 38))
    return types.decimal(precision, draw(st.integers(0, precision)))


NUMBER_TEXTS = st.from_regex(
    r"-?(0|[1-9][0-9]{0,45})(\.[0-9]{1,45})?([eE][+-]?[0-9]{1,3})?", fullmatch=True
)


@settings(max_examples=300)
@given(decimal_types() | st.just(types.DOUBLE), st.lists(NUMBER_TEXTS, min_size=1, max_size=3))
@example(types.decimal(38, 18), ["38930723119825515241071592"])
@example(types.decimal(38, 18), ["1e30"])
@example(types.decimal(38, 38), ["1e75"])
@example(types.decimal(38, 0), ["1e-1000000000"])
@example(types.decimal(38, 0), ["1e-194"])
@example(types.decimal(38, 18), ["0." + "0" * 210 + "1"])
@example(types.decimal(38, 0), ["9" * 309])
@example(types.decimal(38, 18), [str(2**256 + 5)])
@example(types.decimal(38, 18), [f'"{2**256 + 5}"'])
@example(types.decimal(38, 0), ["663270177763478667288661940403297477236697267768880915e76"])
@example(types.DOUBLE, ["1.7976931348623159e308"])
@example(types.DOUBLE, ["-0"])
@example(types.DOUBLE, ["9" * 400])
def test_both_parsers_agree_on_numbers(kind: Type, texts: list[str]) -> None:
    records = [f'{{"a":{text}}}' for text in texts]
    fast, tolerant = decoded({"a": kind}, records), decoded({"a": kind}, records, tolerant=True)
    assert repr(fast) == repr(tolerant)
    if kind != types.DOUBLE:
        assert [row["a"] for row in fast] == [nearest(text, kind) for text in texts]


def nearest(text: str, kind: Type) -> Decimal | None:
    """What docs/spark.md says of decimals."""
    told = Decimal(text.strip('"'))
    if told and not -400 < told.adjusted() < 400:  # no double, or one that is 0
        return None if told.adjusted() > 0 else Decimal(0)
    number = Fraction(told)
    scaled = number * 10**kind.scale
    rounded = Fraction(round(scaled), 10**kind.scale)  # half to even
    if not abs(rounded) < 10 ** (kind.precision - kind.scale):
        return None
    if rounded != number and (text[0] == '"' or float(told) != float(rounded)):
        return None
    return Decimal(round(scaled)).scaleb(-kind.scale, Context(prec=99))


LONG_EXPANSION = "28.519999999999999573674358543939888477325439453125"


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (types.decimal(13, 2), LONG_EXPANSION, "28.52"),
        (types.decimal(13, 2), "-" + LONG_EXPANSION, "-28.52"),
        (types.decimal(13, 2), "28.52", "28.52"),
        (types.decimal(13, 2), "28.519999999999", None),
        (types.decimal(13, 2), "28.525", None),
        (types.decimal(13, 2), f'"{LONG_EXPANSION}"', None),
        (types.decimal(13, 2), '"28.520"', "28.52"),
        (types.decimal(4, 2), "99.99999999999999999999", None),
        (types.decimal(38, 18), str(Decimal.from_float(0.1)), "0.100000000000000006"),
        (types.decimal(38, 18), str(Decimal.from_float(12345.678)), "12345.677999999999883585"),
        (types.decimal(38, 18), "0.12345678901234567891", "0.123456789012345679"),
        (types.decimal(38, 18), "1e-30", None),
        (types.decimal(38, 0), "5.0000000000000000001", "5"),
    ],
)
def test_digits_that_a_double_made_up_are_none(
    kind: Type, text: str, expected: str | None, tolerant: bool
) -> None:
    """Money that a tap sends by way of a double is the money that it was."""
    [row] = decoded({"a": kind}, [f'{{"a":{text}}}'], tolerant)
    assert row["a"] == (None if expected is None else Decimal(expected))


@given(st.decimals(-(10**9), 10**9, places=2), st.integers(0, 3))
def test_every_amount_survives_a_double(amount: Decimal, more: int) -> None:
    texts = [str(Decimal(float(amount))), repr(float(amount)), f"{float(amount):.17g}"]
    rows = decoded({"a": types.decimal(12 + more, 2)}, [f'{{"a":{text}}}' for text in texts])
    assert {row["a"] for row in rows} == {amount}
    unbounded = decoded({"a": types.EXACT_NUMBER}, [f'{{"a":{text}}}' for text in texts])
    assert {float(row["a"]) for row in unbounded} == {float(amount)}


def test_a_block_of_amounts_that_doubles_made_is_taken_at_once() -> None:
    """Guards the speed: a tap that sends its money so sends all of it so."""
    block = b"\n".join(record_line(f'{{"a":{LONG_EXPANSION}}}') for _ in range(3))
    assert decoder({"a": types.decimal(13, 2)})._blocks.rows(block, 2, False) is not None


TIME_TEXTS = st.from_regex(
    r"(2026|0001|9999|0000)-(01|12|13)-(01|30|31|32)"
    r"([Tt ](00|23|24)(:?(00|59|60)(:?(00|59|60)(\.[0-9]{1,9})?)?)?"
    r"([Zz]|[+-](00|02|23|24)(:?(00|30|60))?)?)?",
    fullmatch=True,
)


@settings(max_examples=300)
@given(
    st.sampled_from([types.TIMESTAMP, types.DATE]),
    st.lists(TIME_TEXTS, min_size=1, max_size=3),
)
@example(types.TIMESTAMP, ["2026-11-16T02:54:14", "2026-11-16 02:54:14Z", "2026-11-16"])
@example(types.TIMESTAMP, ["0001-01-01T00:00:00", "9999-12-31T23:59:59.999999"])
@example(types.TIMESTAMP, ["9999-12-31T23:59:59.9999999"])
@example(types.TIMESTAMP, ["0001-01-01T00:00:00+00:30"])
@example(types.TIMESTAMP, ["0000-12-31T23-02"])
@example(types.DATE, ["2026-11-16", "2026-11-16T00:00:00", "2026-11-16 00:00:00+02:00"])
def test_both_parsers_agree_on_times(kind: Type, texts: list[str]) -> None:
    records = [json.dumps({"a": text}) for text in texts] + ['{"a":null}']
    fast, tolerant = decoded({"a": kind}, records), decoded({"a": kind}, records, tolerant=True)
    assert fast == tolerant


@pytest.mark.parametrize(
    "texts",
    [
        ["2026-11-16T02:54:14", "2026-11-16T02:54"],
        ["2026-11-16T02:54:14", "2026-11-16T02:54:14Z", "2026-11-16"],
        ["2026-11-16T02:54:14.1234567Z", "2026-11-16T02:54:14z"],
    ],
)
def test_times_that_fit_are_taken_at_once(texts: list[str]) -> None:
    """Whatever their form: a stream that leaves out the zone is as fast as others."""
    block = b"\n".join(record_line({"a": text}) for text in texts)
    rows = decoder({"a": types.TIMESTAMP})._blocks.rows(block, 2, False)
    assert rows is not None
    [whole] = rows_of(
        {"a": types.array(types.TIMESTAMP)}, [record_line({"a": texts})], (), tolerant=True
    )
    assert rows.arrays["a"].to_pylist() == whole["a"]


@settings(max_examples=50)
@given(st.sets(st.integers(0, 1999), max_size=6), st.booleans())
@example(set(), True)
@example({0, 1999}, True)
@example(set(range(2000)), False)
def test_misfits_in_a_block_change_nothing_around_them(bad: set[int], dated: bool) -> None:
    """A refused block is read in pieces; rows and positions are those of one that is not."""
    columns = {"id": types.LONG, "day": types.DATE}
    day, found = ("soon", "2026-11-16") if dated else (5, "2026-11-16")
    lines = [
        record_line({"id": n, "day": day if n in bad else found}) + b"\n" * (n % 500 == 0)
        for n in range(2000)
    ]
    metadata = ("_position", "_misfits", "_corrupt_record")
    fast, tolerant = (rows_of(columns, lines, metadata, t) for t in (False, True))
    assert fast == tolerant
    assert [row["id"] for row in fast] == list(range(2000))
    assert {row["id"] for row in fast if row["day"] is None} == bad


def test_one_misfit_sends_few_lines_the_slow_way() -> None:
    """Guards the speed: whole blocks would be right, too, and many times slower."""
    made = decoder({"id": types.LONG})
    slow: list[int] = []
    lines_rows = made._lines.rows

    def counted(block: bytes, *rest: Any) -> Any:
        slow.append(block.count(b"\n"))
        return lines_rows(block, *rest)

    made._lines.rows = counted  # type: ignore[method-assign]
    lines = [record_line({"id": "x" if n == 5000 else n}) for n in range(10_000)]
    block = b"\n".join([schema_line({}), *lines]) + b"\n"
    batches = list(made.batches(FileFacts("f", {}), [block]))
    assert [batch.num_rows for batch in batches] == [10_000]
    assert 0 < sum(slow) < 500


def test_blocks_of_plain_records_are_taken_at_once() -> None:
    """Guards the speed: if every block went line by line, the answers would still be right."""
    columns = {name: kind for name, (kind, _) in SCALARS.items()}
    made = decoder(columns, metadata=("_position", "_version", "_time_extracted"))
    record = {
        "long": 1,
        "double": 1.5,
        "decimal": 2.25,
        "boolean": True,
        "string": "é",
        "timestamp": "2026-11-16T02:54:14.5+00:00",
        "date": "2026-11-16",
        "text": 5,
        "json": {"a": [1]},
    }
    assert columns.keys() == record.keys()
    block = b"\n".join([record_line(record)] * 3 + [activate_line(1)])
    rows = made._blocks.rows(block, 2, True)
    assert rows is not None
    assert (rows.count, rows.lines) == (3, 4)
