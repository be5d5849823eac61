"""The pipes of both plugins have room for some blocks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from singerlake.plugin import pipe
from tests.tap.replay import command, config, land, record, schema

fcntl = pytest.importorskip("fcntl")
if not hasattr(fcntl, "F_GETPIPE_SZ"):
    pytest.skip("this system does not say how large a pipe is", allow_module_level=True)


def room(descriptor: int) -> int:
    size: int = fcntl.fcntl(descriptor, fcntl.F_GETPIPE_SZ)
    return size


@pytest.fixture
def ends() -> Iterator[tuple[int, int]]:
    reading, writing = os.pipe()
    yield reading, writing
    os.close(reading)
    os.close(writing)


def test_a_pipe_gets_more_room(ends: tuple[int, int]) -> None:
    assert room(ends[1]) < pipe.ROOM
    pipe.enlarge(ends[1])
    assert room(ends[0]) == pipe.ROOM


def test_a_pipe_that_has_more_keeps_it(
    ends: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = room(ends[1])
    monkeypatch.setattr(pipe, "ROOM", before // 2)
    pipe.enlarge(ends[1])
    assert room(ends[1]) == before


def test_what_is_no_pipe_stays_as_it_is(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        pipe.enlarge(file.fileno())
        file.write(b"as ever")
    assert (tmp_path / "file").read_bytes() == b"as ever"


def test_the_tap_is_ahead_of_its_reader_by_more_than_a_block(
    tmp_path: Path, ends: tuple[int, int]
) -> None:
    """It ends though nobody has read yet: 64 KB would not do for what it prints."""
    root = tmp_path / "lake"
    land(root, [schema(), *(record(number % 3000, name="x" * 500) for number in range(1000))])
    arguments = command(tmp_path, config(root))
    done = subprocess.run(
        arguments, stdout=ends[1], stderr=subprocess.PIPE, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert len(os.read(ends[0], pipe.ROOM)) > 500_000


def test_the_target_takes_more_than_a_block_ahead(ends: tuple[int, int]) -> None:
    program = (
        "from target_singerlake.blocks import blocks\n"
        "import sys\n"
        "next(blocks(sys.stdin, lambda: False))"
    )
    os.write(ends[1], b"{}\n")
    subprocess.run([sys.executable, "-c", program], stdin=ends[0], timeout=60, check=True)
    assert room(ends[0]) == pipe.ROOM
