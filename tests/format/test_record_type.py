"""Which type holds the values of several."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.format import record_type as types
from singerlake.format.record_type import Type
from tests.format.made import TYPES


@pytest.mark.parametrize(
    ("one", "other", "expected", "is_conflict"),
    [
        (types.LONG, types.DOUBLE, "double", False),
        (types.LONG, types.decimal(10, 2), "decimal(21,2)", False),
        (types.LONG, types.decimal(38, 18), "decimal(38,18)", False),
        (types.LONG, types.decimal(38, 30), "string (text)", True),
        (types.decimal(5, 2), types.decimal(10, 0), "decimal(12,2)", False),
        (types.decimal(38, 0), types.decimal(38, 10), "string (text)", True),
        (types.DOUBLE, types.decimal(10, 2), "double", False),
        (types.DATE, types.TIMESTAMP, "timestamp", False),
        (types.STRING, types.TIMESTAMP, "string", False),
        (types.STRING, types.LONG, "string (text)", True),
        (types.TEXT, types.LONG, "string (text)", True),
        (types.BOOLEAN, types.LONG, "string (text)", True),
        (types.STRING, types.array(types.LONG), "string (JSON)", True),
        (types.JSON, types.LONG, "string (JSON)", True),
        (types.TEXT, types.STRING, "string (text)", False),
        (types.NULL, types.LONG, "bigint", False),
        (types.array(types.LONG), types.array(types.DOUBLE), "array<double>", False),
        (types.mapping(types.LONG), types.struct({"a": types.LONG}), "string (JSON)", True),
        (
            types.struct({"a": types.LONG}),
            types.struct({"b": types.STRING, "a": types.DOUBLE}),
            "struct<a:double,b:string>",
            False,
        ),
    ],
)
def test_what_holds_both(one: Type, other: Type, expected: str, is_conflict: bool) -> None:
    for pair in ([one, other], [other, one]):
        conflicts: list[str] = []
        found = types.union(pair, conflicts, "column")
        if one.kind != "struct":
            assert str(found) == expected
        assert bool(conflicts) is is_conflict
    assert str(types.union([one, other])) == expected


@given(st.lists(TYPES, min_size=1, max_size=4))
def test_a_union_holds_each_of_its_types(kinds: list[Type]) -> None:
    found = types.union(kinds)
    for kind in kinds:
        assert types.union([found, kind]) == found
