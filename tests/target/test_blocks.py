"""Lines of several streams, cut into blocks anywhere: each stream holds its lines, in order."""

from __future__ import annotations

import io
import itertools
import logging
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from singerlake.errors import UnknownStream
from singerlake.lake import open_lake
from singerlake.lake.spool import CHUNK
from target_singerlake.blocks import blocks
from target_singerlake.landing import Landing
from target_singerlake.raw import RawIntake, _around_states
from tests.target.driving import TAP_ID, as_sent, assert_clean, record, schema, stored, timed

STREAMS = ["a", "b", "Größe"]
LOG = logging.getLogger(__name__)
_roots = (f"memory://blocks-{number}" for number in itertools.count())


def an_activation(stream: str) -> str:
    return f'{{"type":"ACTIVATE_VERSION","stream":"{stream}","version":1}}'


def with_odd_spaces(stream: str, number: int) -> str:
    return f'{{ "record" : {{"id": {number}}},\t"stream":"{stream}", "type":"RECORD"}}'


def of_stream(make: Callable[..., str], *more: st.SearchStrategy[Any]) -> Any:
    """A stream and one of its lines."""
    names = st.sampled_from(STREAMS)
    return st.tuples(names, *more).map(lambda made: (made[0], make(*made)))


small = st.integers(0, 999_999)
sent_lines = st.lists(
    st.one_of(
        of_stream(timed, small),
        of_stream(timed, small),
        of_stream(record, small),
        of_stream(with_odd_spaces, small),
        of_stream(an_activation),
        of_stream(schema),
        of_stream(lambda stream: schema(stream, more={"type": "string"})),
        st.sampled_from(['{"type":"STATE","value":{"at":1}}', '{"type":"ODD"}', "", " "]).map(
            lambda line: ("", line)
        ),
    ),
    max_size=40,
)


class Cut(io.RawIOBase):
    """Gives the data in pieces of the given sizes, over and over."""

    def __init__(self, data: bytes, sizes: list[int]) -> None:
        self._data, self._sizes = io.BytesIO(data), itertools.cycle(sizes)

    def read(self, size: int = -1) -> bytes:
        return self._data.read(next(self._sizes))

    def fileno(self) -> int:
        raise io.UnsupportedOperation


def land_in_blocks(root: str, pieces: Iterable[bytes]) -> None:
    landing = Landing(open_lake(root, create=True).writer(TAP_ID), 3600, LOG)
    intake = RawIntake(landing, {}, landing.tick, LOG)
    try:
        for block in pieces:
            intake.take(block)
        landing.writer.commit()
    finally:
        intake.close()
        landing.close()


def land_by_line(root: str, lines: list[str]) -> None:
    with open_lake(root, create=True).writer(TAP_ID) as writer:
        for line in lines:
            writer.write(line.encode() + b"\n")


@given(lines=sent_lines, sizes=st.lists(st.integers(1, 300), min_size=1, max_size=10))
def test_any_interleaving_cut_anywhere_is_stored_as_it_was_sent(
    lines: list[tuple[str, str]], sizes: list[int]
) -> None:
    first = [(stream, schema(stream)) for stream in STREAMS]
    sent = [*first, *lines]
    data = "".join(line + "\n" for _, line in sent).encode()
    in_blocks, by_line = next(_roots), next(_roots)
    pieces = blocks(Cut(data, sizes), lambda: False)
    land_in_blocks(in_blocks, (piece for piece in pieces if piece))
    land_by_line(by_line, [line for _, line in sent])
    for stream in STREAMS:
        expected = [
            line.encode()
            for name, line in sent
            if name == stream and ("RECORD" in line or "ACTIVATE" in line)
        ]
        assert kept(in_blocks, stream) == kept(by_line, stream) == expected
    assert_clean(in_blocks)


def test_a_long_line_that_comes_in_pieces_is_whole() -> None:
    line = b"x" * 3_000_000 + b"\n"
    assert b"".join(blocks(Cut(line + line, [4096]), lambda: False)) == line + line


def test_what_comes_at_once_is_stored_in_members_of_the_size_that_the_spec_names(
    tmp_path: Path,
) -> None:
    lines = [schema("a"), *(timed("a", number) for number in range(30_000))]
    sent = tmp_path / "sent.jsonl"
    sent.write_text("\n".join(lines) + "\n")
    with sent.open("rb") as source:
        land_in_blocks(str(tmp_path / "lake"), blocks(source, lambda: False))
    (file,) = (tmp_path / "lake").rglob("*.singer.gz")
    first, *others, last = members(file.read_bytes())
    assert first == lines[0].encode() + b"\n"
    assert len(others) >= 3, "too few lines to tell"
    assert all(0.9 * CHUNK < len(member) <= CHUNK + len(lines[-1]) for member in others)
    assert last.endswith(b"\n")


def members(data: bytes) -> list[bytes]:
    """The content of each gzip member."""
    found = []
    while data:
        one = zlib.decompressobj(wbits=31)
        found.append(one.decompress(data) + one.flush())
        data = one.unused_data
    return found


def kept(root: str, stream: str) -> list[bytes]:
    """The stream's lines, without the times that were spliced in."""
    try:
        return [as_sent(line) for line in stored(root, stream)]
    except UnknownStream:  # only its SCHEMA came
        return []


@given(st.lists(st.sampled_from([b"a", b'{"STATE"', b'x"STATE"y"STATE"', b""]), max_size=12))
def test_cutting_around_states_gives_whole_lines_and_every_byte(lines: list[bytes]) -> None:
    block = b"\n".join(lines)
    pieces = list(_around_states(block))
    assert b"".join(pieces) == block
    assert all(piece.endswith(b"\n") for piece in pieces[:-1])
    assert all(b'"STATE"' not in piece or piece.count(b"\n") <= 1 for piece in pieces)
