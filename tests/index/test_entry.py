"""Entries: their ids, and where their files lie."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given
from hypothesis import strategies as st

from singerlake.format.keys import FileName, digits_of, file_path
from singerlake.index.entry import entry_id, moment, own_path
from singerlake.index.storage.row import (
    OF_HASH,
    length_of,
    longest,
    pack_hash,
    suffix_of,
    unpack_hash,
)
from singerlake.index.storage.safe_text import from_safe, to_safe

FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
TIMES = st.integers(FIRST, LAST)
NAMES = st.text(st.characters(codec=None), min_size=1, max_size=20)


@given(NAMES, TIMES, TIMES, st.sampled_from(["", "00ff00ff", "ffffffff", "80000000"]))
def test_a_file_lies_where_its_name_says(stream: str, start: int, end: int, suffix: str) -> None:
    name = FileName(stream, moment(start), moment(end), suffix)
    path = own_path(stream, "StxYGwZ", start, end, suffix)
    assert path == file_path("StxYGwZ", name)
    digits = int(suffix, 16).to_bytes(4, "big") if suffix else None
    signed = None if digits is None else int.from_bytes(digits, "big", signed=True)
    assert suffix_of(path) == signed


@given(NAMES, TIMES, TIMES, st.binary(min_size=32, max_size=32))
def test_a_file_that_is_named_by_its_hash_needs_no_digits_of_its_own(
    stream: str, start: int, end: int, digest: bytes
) -> None:
    path = own_path(stream, "StxYGwZ", start, end, digest.hex()[:10])
    name = FileName(stream, moment(start), moment(end), digits_of(f"sha256:{digest.hex()}"))
    assert path == file_path("StxYGwZ", name)
    assert suffix_of(path) == OF_HASH


@given(NAMES, NAMES, st.integers(0, 2**53), st.integers(0, 99))
def test_an_id_is_what_the_format_says(tap: str, stream: str, sequence: int, ordinal: int) -> None:
    text = json.dumps(["lake", tap, stream, "log", sequence, ordinal], separators=(",", ":"))
    expected = hashlib.sha256(text.encode("ascii")).hexdigest()[:32]
    assert entry_id("lake", tap, stream, "log", sequence, ordinal) == expected


@given(st.text(st.characters(codec=None)), st.text(st.characters(codec=None)))
def test_any_text_is_kept(one: str, other: str) -> None:
    for text in (
        one,
        f"sha256:{one}",
        f"sha256:{hashlib.sha256(one.encode('utf-8', 'surrogatepass')).hexdigest()}",
    ):
        assert from_safe(to_safe(text)) == text
        assert to_safe(text).encode() or not text
        assert "\0" not in to_safe(text)
        if not text.endswith("\0"):
            assert unpack_hash(pack_hash(text)) == text
    assert (to_safe(one) == to_safe(other)) == (one == other)


@given(TIMES, TIMES)
def test_an_entry_is_no_longer_than_its_class(one: int, other: int) -> None:
    start, end = sorted((one, other))
    length = length_of(start, end)
    assert end - start <= longest(length)
    assert length == 0 or end - start > longest(length - 1)
