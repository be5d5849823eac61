"""How deep a line is, told without a parser: the same as one would tell."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import BadMessage
from singerlake.format import block, message, nesting
from singerlake.format.nesting import DEEPEST_LINE, is_deep_line
from tests.format.made import json_values, record_line

AROUND = len(["message", "record"])


def _levels(value: Any) -> int:
    if not isinstance(value, (dict, list)):
        return 0
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_levels, inner), default=0)


@given(
    st.dictionaries(st.text('[]{}"\\a', max_size=5), json_values | st.text('[]{}"\\', max_size=9)),
    st.integers(0, 4),
    st.integers(1, 20),
)
def test_the_levels_of_any_object(value: dict[str, Any], limit: int, portion: int) -> None:
    with pytest.MonkeyPatch.context() as patches:
        patches.setattr(nesting, "DEEPEST_LINE", limit)
        patches.setattr(nesting, "_PORTION", portion)
        assert is_deep_line(json.dumps(value).encode()) is (_levels(value) > limit)


@pytest.mark.parametrize(("before", "after"), [(b"[", b"]"), (b'{"a":', b"}")])
@pytest.mark.parametrize("number", [b"1", b"NaN"], ids=["quick", "tolerant"])
def test_a_record_has_the_same_limit_whatever_reads_it(
    before: bytes, after: bytes, number: bytes
) -> None:
    def line(levels: int) -> bytes:
        nested = before * (levels - AROUND) + number + after * (levels - AROUND)
        return record_line(record=b'{"a":%s}' % nested)

    deepest, deeper = line(DEEPEST_LINE), line(DEEPEST_LINE + 1)
    assert message.decode(deepest).type == "RECORD"
    assert block.summarise(deepest, "s").records == 1
    assert message.record_of(deepest)
    for read in (message.decode, lambda line: block.summarise(line, "s")):
        with pytest.raises(BadMessage, match=f"more than {DEEPEST_LINE} levels"):
            read(deeper)


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.integers(0, 600), st.booleans())
def test_no_deep_line_is_overlooked_however_few_bytes_it_takes(
    kinds: list[bool], beside: int, empty: bool
) -> None:
    """Levels that are arrays and objects in turns, as short as they can be."""
    levels = [kinds[number % len(kinds)] for number in range(DEEPEST_LINE)]
    begin = b"".join(b"[" if array else b'{"":' for array in levels)
    end = b"".join(b"]" if array else b"}" for array in reversed(levels))
    deep = begin + (b"{}" if empty else b"[]") + end
    assert _levels(json.loads(deep)) == DEEPEST_LINE + 1
    assert is_deep_line(deep)
    others = b'{"a":[]}\n' * beside
    for lines in (deep, others + deep, deep + b"\n" + others):
        assert nesting.has_room_for_depth(lines, len(deep))


@pytest.mark.parametrize("size", [900, 2000])
def test_lines_that_cannot_be_deep_are_not_looked_at_one_by_one(size: int) -> None:
    line = b'{"a":[{"b":[1,2]},{"b":[]}],"c":"%s"}' % (b"." * (size - 40))
    assert not nesting.has_room_for_depth((line + b"\n") * 500, len(line))


def test_many_brackets_side_by_side_or_in_strings_are_not_deep() -> None:
    wide = b"[" + b",".join([b"[{}]"] * 50_000) + b"]"
    text = b'"' + b'\\\\\\"[{' * 50_000 + b'"'
    for value in (wide, text):
        line = record_line(record=b'{"a":%s}' % value)
        assert message.decode(line).type == "RECORD"
        assert block.RecordDecoder("s").summarise(line) is not None
