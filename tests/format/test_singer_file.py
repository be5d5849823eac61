"""A Singer file: read to the end, it tells what it holds, or what is wrong with it."""

from __future__ import annotations

import io
from datetime import timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import CorruptFile
from singerlake.format import compression, singer_file
from singerlake.format.block import Summary
from singerlake.format.message import decode_schema
from singerlake.format.singer_file import Content
from tests.format.made import EPOCH, record_line, schema_line

STREAM = "Größe"
SCHEMA = schema_line(STREAM)
LATER = record_line(STREAM, b'{"n":NaN}', "2026-01-01T01:00:00+00:00")
FILE = b"\n".join([SCHEMA, LATER, record_line(STREAM), b""])


@given(st.lists(st.integers(0, len(FILE)), max_size=6), st.booleans())
def test_a_file_tells_what_it_holds_however_it_is_chunked(cuts: list[int], feed: bool) -> None:
    data = FILE if feed else FILE.rstrip(b"\n")
    edges = [0, *sorted(cuts), len(data)]
    chunks = [data[start:end] for start, end in pairwise(edges)]
    assert singer_file.scan(chunks, "file") == Content(
        STREAM,
        decode_schema(SCHEMA),
        Summary(2, 2, EPOCH, EPOCH + timedelta(hours=1)),
        len(data),
    )
    assert singer_file.schema_line(iter(chunks), "file") == SCHEMA


def test_a_file_of_crlf_lines_and_blank_ones_is_read() -> None:
    data = FILE.replace(b"\n", b"\r\n") + b"\r\n \n" + LATER
    assert singer_file.scan([data], "file").summary.records == 3
    assert singer_file.schema_line(iter([data]), "file") == SCHEMA + b"\r"


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b" \n\t\n"])
def test_blank_lines_before_the_schema_are_passed_over(blank: bytes) -> None:
    for chunks in ([blank + FILE], [blank, FILE], [blank, blank, blank + FILE]):
        assert singer_file.scan(chunks, "file").summary.records == 2
        assert singer_file.schema_line(iter(chunks), "file") == SCHEMA


def test_a_file_without_records_is_read() -> None:
    for data in (SCHEMA, SCHEMA + b"\n"):
        assert singer_file.scan([data], "file").summary == Summary()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a SCHEMA line, found an empty file"),
        (b"\n \n", "expected a SCHEMA line, found an empty file"),
        (LATER + b"\n" + SCHEMA, "expected the SCHEMA line first, found RECORD"),
        (SCHEMA + b"\n" + SCHEMA, "expected RECORD and ACTIVATE_VERSION lines"),
        (SCHEMA + b"\n" + record_line("other"), "found RECORD of 'other'"),
        (SCHEMA + b"\n" + b'{"type":"STATE","value":{}}', "found STATE"),
        (SCHEMA + b"\n" + LATER[:-5], "not JSON"),
        (SCHEMA + b"\n" + LATER + LATER, "not JSON"),
        (b'{"type":"SCHEMA","stream":"s"}', "no `schema` object"),
        (b"\x1f\x8b\x08", "not UTF-8"),
    ],
)
def test_what_is_not_a_singer_file_is_corrupt(data: bytes, message: str) -> None:
    with pytest.raises(CorruptFile, match=f"^lake/file: .*{message}"):
        singer_file.scan([data] if data else [], "lake/file")


def test_a_file_without_any_line_has_no_schema_line() -> None:
    with pytest.raises(CorruptFile, match=r"^lake/file: expected a SCHEMA line"):
        singer_file.schema_line(iter([b"\n \n"]), "lake/file")


def test_every_cut_of_a_compressed_file_shows_in_the_scan_or_in_its_counts() -> None:
    members = [compression.member(part) for part in (SCHEMA + b"\n", LATER + b"\n", LATER + b"\n")]
    data = b"".join(members)
    for length in range(len(data)):
        blocks = compression.blocks(io.BytesIO(data[:length]), ".gz", "file")
        if length in (len(members[0]), len(members[0] + members[1])):
            assert singer_file.scan(blocks, "file").summary.records < 2
        else:
            with pytest.raises(CorruptFile):
                singer_file.scan(blocks, "file")
