"""Memory stays bounded, whatever the number of streams and of records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.target.driving import (
    MEASURED,
    files,
    peak_megabytes,
    run,
    schema,
    started,
    state,
    timed,
)

PADDING = "".join(f"{number * 7919 % 10007:05}" for number in range(40))


def measured(root: Path, pieces: Iterator[bytes], **config: object) -> int:
    """Land all of it, and return the peak memory in MB."""
    with started(root, command=MEASURED, **config) as running:
        for piece in pieces:
            running.send_bytes(piece)
        running.send(state({"at": "the end"}))
        outcome = running.end()
    assert outcome.code == 0, outcome.log
    assert json.loads(outcome.states[-1]) == {"at": "the end"}
    return peak_megabytes(outcome)


def landed(root: Path, stream: str) -> int:
    return sum(file.records for file in files(root, stream))


@pytest.mark.slow
def test_five_hundred_interleaved_streams_take_at_most_200_megabytes(tmp_path: Path) -> None:
    names = [f"stream-{number}" for number in range(500)]
    rounds = 400

    def pieces() -> Iterator[bytes]:
        yield "".join(schema(name) + "\n" for name in names).encode()
        for number in range(rounds):
            yield "".join(timed(name, number, pad=PADDING) + "\n" for name in names).encode()

    peak = measured(tmp_path, pieces())
    print(f"500 streams, {500 * rounds} records: {peak} MB")
    assert {landed(tmp_path, name) for name in names} == {rounds}
    assert peak <= 200


@pytest.mark.slow
def test_one_stream_of_300_000_records_takes_at_most_60_megabytes(tmp_path: Path) -> None:
    def pieces() -> Iterator[bytes]:
        yield f"{schema('s')}\n".encode()
        for start in range(0, 300_000, 1000):
            lines = (timed("s", number, pad=PADDING) for number in range(start, start + 1000))
            yield "".join(line + "\n" for line in lines).encode()

    peak = measured(tmp_path, pieces())
    print(f"one stream: {peak} MB")
    assert landed(tmp_path, "s") == 300_000
    assert peak <= 60


@pytest.mark.slow
def test_one_very_long_line_is_taken(tmp_path: Path) -> None:
    line = timed("s", 1, pad="x" * 30_000_000)
    outcome = run([schema("s"), line, state({"at": 1})], tmp_path)
    assert (outcome.code, outcome.states) == (0, [b'{"at": 1}'])
    assert files(tmp_path, "s")[0].records == 1
