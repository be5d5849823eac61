"""Compression: what goes in comes out, everybody's gzip reads it, and no cut goes unnoticed."""

from __future__ import annotations

import bz2
import gzip
import io
import random
import zlib
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from isal import igzip

from singerlake.errors import CorruptFile
from singerlake.format import compression, inflate

LEVELS = range(compression.FASTEST, compression.SMALLEST + 1)
contents = st.binary(max_size=200) | st.builds(
    lambda data, times: data * times, st.binary(min_size=1, max_size=8), st.integers(0, 5000)
)
chunkings = st.lists(st.text("ab \r\n", max_size=8).map(str.encode), max_size=8)


def read(data: bytes, kind: str = ".gz") -> bytes:
    return b"".join(compression.blocks(io.BytesIO(data), kind, "file"))


@pytest.mark.parametrize("level", LEVELS)
@given(data=contents)
def test_every_level_gives_back_any_data(level: int, data: bytes) -> None:
    member = compression.member(data, level)
    assert read(member) == gzip.decompress(member) == igzip.decompress(member) == data


@given(st.lists(contents, min_size=1, max_size=5), st.sampled_from(LEVELS))
def test_members_in_a_row_are_one_file_for_every_reader(pieces: list[bytes], level: int) -> None:
    data = b"".join(
        compression.member(piece, level, "w/r/1" if at == 0 else "")
        for at, piece in enumerate(pieces)
    )
    assert read(data) == gzip.decompress(data) == igzip.decompress(data) == b"".join(pieces)
    assert compression.origin(data) == "w/r/1"


@pytest.mark.parametrize("level", LEVELS)
def test_the_same_data_makes_the_same_bytes(level: int) -> None:
    data = b"some lines\n" * 1000
    assert compression.member(data, level) == compression.member(data, level)


def test_the_smallest_level_is_smaller_than_the_fastest() -> None:
    chance = random.Random(1)
    words = ["".join(chance.choices("abcdefgh", k=7)) for _ in range(500)]
    data = b"".join(
        b'{"id":%d,"text":"%s"}\n' % (number, " ".join(chance.choices(words, k=12)).encode())
        for number in range(2_000)
    )
    fastest, smallest = (
        len(compression.member(data, level))
        for level in (compression.FASTEST, compression.SMALLEST)
    )
    assert smallest < fastest


def test_blocks_are_bounded_however_well_the_data_was_compressed() -> None:
    data = compression.member(b"\0" * (3 * compression.BLOCK + 1))
    blocks = list(compression.blocks(io.BytesIO(data), ".gz", "file"))
    assert max(map(len, blocks)) <= compression.BLOCK
    assert sum(map(len, blocks)) == 3 * compression.BLOCK + 1


@pytest.mark.parametrize("kind", [".gz", ".bz2"])
def test_a_cut_anywhere_but_between_members_is_noticed(kind: str) -> None:
    compress = compression.member if kind == ".gz" else bz2.compress
    first, second = compress(b"first line\n"), compress(b"second line\n")
    whole = first + second
    for length in range(1, len(whole)):
        if length == len(first):
            # Only the size in the manifest can tell.
            assert read(whole[:length], kind) == b"first line\n"
            continue
        with pytest.raises(CorruptFile, match=r"file: expected whole .* `singerlake check`"):
            read(whole[:length], kind)


@pytest.mark.parametrize("kind", [".gz", ".bz2"])
def test_a_changed_byte_never_gives_other_data(kind: str) -> None:
    compress = compression.member if kind == ".gz" else bz2.compress
    data = b"".join(b"line %d\n" % n for n in range(50))
    whole = compress(data)
    for position in range(10 if kind == ".gz" else 4, len(whole)):
        changed = bytearray(whole)
        changed[position] ^= 0x10
        try:
            assert read(bytes(changed), kind) == data
        except CorruptFile:
            continue


def read_until_damage(data: bytes, at_most: int) -> tuple[bytes, bool]:
    """What is handed on, and whether an error follows."""
    received: list[bytes] = []
    try:
        received.extend(compression.blocks(io.BytesIO(data), ".gz", "file", at_most))
    except CorruptFile:
        return b"".join(received), True
    return b"".join(received), False


@pytest.mark.parametrize("at_most", [100, compression.BLOCK])
def test_all_before_a_damaged_member_is_handed_on_and_nothing_of_it(at_most: int) -> None:
    """Whoever takes the lines has no way to take them back."""
    parts = [b"".join(b"line %d of %d\n" % (n, part) for n in range(40)) for part in range(3)]
    first, second, third = map(compression.member, parts)
    damaged = 0
    for position in range(len(second)):
        changed = bytearray(second)
        changed[position] ^= 0x10
        received, failed = read_until_damage(first + changed + third, at_most)
        assert received == (parts[0] if failed else b"".join(parts)), position
        damaged += failed
    assert damaged > len(second) - 20, "all but a few that say nothing in the header"


def test_a_member_too_large_to_wait_for_comes_before_its_checksum() -> None:
    data = random.Random(1).randbytes(2 * inflate.HELD)
    changed = bytearray(compression.member(data))
    changed[-8] ^= 1
    received, failed = read_until_damage(bytes(changed), compression.BLOCK)
    assert failed
    assert len(received) > inflate.HELD
    assert data.startswith(received)


@pytest.mark.parametrize("zeros", [1, inflate.READ + 5])
def test_zeros_that_pad_a_file_are_passed_over(zeros: int) -> None:
    member = compression.member(b"line\n")
    assert read(member + bytes(zeros)) == b"line\n"
    assert read(member + bytes(zeros) + member) == b"line\nline\n"


@pytest.mark.parametrize("kind", [".gz", ".bz2"])
def test_what_could_be_read_comes_before_the_error(kind: str) -> None:
    line = b"0123456789abcdef\n"
    compress = compression.member if kind == ".gz" else bz2.compress
    data = compress(line * 100_000) + compress(line)[:-3]
    received: list[bytes] = []
    with pytest.raises(CorruptFile):
        received.extend(compression.blocks(io.BytesIO(data), kind, "file"))
    assert received == [] or b"".join(received).startswith(line)
    blocks = compression.blocks(io.BytesIO(data), kind, "file")
    assert len(next(blocks)) > 0


@pytest.mark.parametrize("data", [b"plain text\n", b"\x1f\x8b", b"BZh9", b"\x1f\x8b\x08\xff" * 9])
@pytest.mark.parametrize("kind", [".gz", ".bz2"])
def test_what_is_not_compressed_is_a_corrupt_file(data: bytes, kind: str) -> None:
    with pytest.raises(CorruptFile):
        read(data, kind)


def test_garbage_behind_the_last_member_is_a_corrupt_file() -> None:
    with pytest.raises(CorruptFile):
        read(compression.member(b"line\n") + b"garbage")


class Unplugged(io.RawIOBase):
    """A disk that goes away: an error with an errno is the system's, not the data's."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        raise OSError(5, "Input/output error")


@pytest.mark.parametrize("kind", [".gz", ".bz2", ""])
def test_a_failing_disk_is_not_a_corrupt_file(kind: str) -> None:
    with pytest.raises(OSError, match="Input/output error"):
        list(compression.blocks(io.BufferedReader(Unplugged()), kind, "file"))


@given(contents)
def test_bz2_and_plain_files_are_read(data: bytes) -> None:
    assert read(bz2.compress(data), ".bz2") == data
    assert read(data, "") == data


@given(chunkings)
def test_lines_do_not_depend_on_how_the_bytes_were_chunked(chunks: list[bytes]) -> None:
    expected = [line for line in b"".join(chunks).split(b"\n") if line.strip()]
    assert list(compression.lines(iter(chunks))) == expected


@given(chunkings)
def test_line_blocks_are_the_same_bytes_cut_between_lines(chunks: list[bytes]) -> None:
    blocks = list(compression.line_blocks(iter(chunks)))
    assert b"".join(blocks) == b"".join(chunks)
    assert all(blocks)
    assert all(block.endswith(b"\n") for block in blocks[:-1])


def test_a_line_far_longer_than_a_block_takes_time_in_proportion() -> None:
    """Where each chunk were joined to what came before, this would copy 100 GB."""
    chunk, count = b"x" * 4096, 7_000

    def chunks() -> Iterator[bytes]:
        for _ in range(count):
            yield chunk
        yield b"\n"

    (line,) = compression.lines(chunks())
    assert len(line) == len(chunk) * count


@pytest.mark.parametrize("name", ["w/r/1", "host-1-ab/2026!3A01/12", "x" * 400])
def test_the_origin_stands_in_the_first_bytes(name: str) -> None:
    data = compression.member(b"line\n", name=name)
    assert compression.origin(data[:1024]) == name
    assert read(data) == b"line\n"


HEADS_WITHOUT_NAME = [
    b"",
    b"\x1f\x8b\x08",
    b"plain text that is long enough",
    compression.member(b"line\n"),
    compression.member(b"line\n", name="cut off")[:14],
    gzip.compress(b"line\n"),
    bz2.compress(b"line\n"),
    b"\x1f\x8b\x08\x0c" + bytes(6) + b"\x04\0abcdname\0",
]


@pytest.mark.parametrize("head", HEADS_WITHOUT_NAME, ids=range(len(HEADS_WITHOUT_NAME)))
def test_a_file_without_a_name_field_has_no_origin(head: bytes) -> None:
    assert compression.origin(head) == ""


def test_the_name_that_gzip_itself_writes_is_found() -> None:
    target = io.BytesIO()
    with gzip.GzipFile("orders.singer", "wb", fileobj=target) as file:
        file.write(b"line\n")
    assert compression.origin(target.getvalue()) == "orders.singer"


@pytest.mark.parametrize("level", LEVELS)
def test_header_and_trailer_are_those_of_the_standard_without_time_or_system(level: int) -> None:
    data = b"some lines\n"
    member = compression.member(data, level)
    assert member[:10] == b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    assert member[-8:] == zlib.crc32(data).to_bytes(4, "little") + len(data).to_bytes(4, "little")


@given(chunkings, st.integers(0, 6), st.integers(0, 6))
def test_some_lines_are_the_first_and_those_asked_for(
    chunks: list[bytes], skip: int, take: int
) -> None:
    every = list(compression.lines(iter(chunks)))
    found = b"".join(compression.some_lines(iter(chunks), skip, take)).splitlines(keepends=True)
    wanted = every[:1] + every[1:][skip : skip + take]
    assert b"".join(found) == b"".join(line + b"\n" for line in wanted)


def test_no_more_long_lines_are_held_than_a_block_has() -> None:
    line = b"x" * 99_999 + b"\n"
    blocks = (line * 2 for _ in range(1000))
    longest = max(map(len, compression.some_lines(blocks, 1, 1998)))
    assert longest <= 2 * len(line)
