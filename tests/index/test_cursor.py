"""Cursors: what a page gave is read again, and nothing else, however absurd."""

from __future__ import annotations

import base64

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import BadCursor
from singerlake.index.cursor import decode, encode
from singerlake.index.query import Query

INT64 = st.integers(-(2**63), 2**63 - 1)
POSITIONS = st.tuples(INT64, INT64, INT64, INT64, INT64)
NAMES = st.none() | st.text(st.characters(codec=None), max_size=8)
QUERIES = st.builds(Query, tap=NAMES, stream=NAMES, start=st.none() | INT64, run_id=NAMES)


@given(QUERIES, POSITIONS)
def test_a_cursor_comes_back(query: Query, position: tuple[int, int, int, int, int]) -> None:
    text = encode(query, position)
    assert decode(query, text) == position
    assert text.isascii()
    assert "=" not in text


@given(st.text(max_size=300) | st.binary(max_size=60).map(lambda data: data.hex()))
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(BadCursor):
        decode(Query(), text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.text() | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
        max_leaves=5,
    )
)
def test_hostile_bodies_are_refused(value: object) -> None:
    packed = base64.urlsafe_b64encode(msgspec.msgpack.encode(value)).decode().rstrip("=")
    with pytest.raises(BadCursor):
        decode(Query(), packed)


@given(POSITIONS, st.integers(0, 5), st.integers(2**63, 2**64 - 1))
def test_numbers_past_64_bits_are_refused(
    position: tuple[int, int, int, int, int], at: int, number: int
) -> None:
    body = [Query().digest(), *position]
    body[at or 1] = number
    packed = base64.urlsafe_b64encode(msgspec.msgpack.encode(body)).decode().rstrip("=")
    with pytest.raises(BadCursor):
        decode(Query(), packed)


def test_the_cursor_of_another_query_is_refused() -> None:
    text = encode(Query(tap="a"), (1, 2, 3, 4, 5))
    with pytest.raises(BadCursor, match="another query"):
        decode(Query(tap="b"), text)
    for other in (Query(), Query(stream="a"), Query(tap="a", start=0), Query(tap="a", max_size=1)):
        with pytest.raises(BadCursor):
            decode(other, text)
