"""Any bytes: a result or one of our errors, never another exception and never a hang."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from tests.faults.hostile_input import TARGETS, a_line, examples, outcome, whole
from tests.faults.result import Line
from tests.faults.scale import WHOLE, scaled

SUITE = "Hostile input"
EXAMPLES = examples()
FILE = f"{__name__.replace('.', '/')}.py"

# Pieces that parsers stumble over, to be put anywhere.
MARKS = b'\0 \n \r { } [ ] " \\ , : - .. / {} [] "" -1 1.5 1e999 NaN -Infinity null true'.split()
PIECES = [
    *MARKS,
    b"9" * 5000,
    b"18446744073709551616",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\xef\xbb\xbf",
    b'"\\ud800"',
    b"[" * 3000,
    b'{"a":' * 3000,
    b'"0001-01-01T00:00:00+05:00"',
    b'"9999-12-31T23:59:59.9999999Z"',
]

NEVER_REFUSED = ("keys and names", "parts of files")
"""What is not a key or a name of ours is None; lines are cut out of any bytes."""

changed = some.tuples(
    some.integers(0, 10_000),
    some.integers(0, 12),
    some.one_of(some.sampled_from(PIECES), some.binary(max_size=12)),
)


def change(data: bytes, places: list[tuple[int, int, bytes]]) -> bytes:
    """The bytes with some of them replaced, removed, or put in."""
    for at, length, piece in places:
        at %= len(data) + 1
        data = data[:at] + piece + data[at + length :]
    return data


@pytest.mark.timeout(scaled(120, 3600))
@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes_are_read_or_refused(name: str) -> None:
    row = Line(SUITE, f"{name}, by Hypothesis", FILE)
    counts: Counter[str] = Counter()
    target, right = TARGETS[name], EXAMPLES[name]
    assert outcome(target, right) == "read"

    @settings(
        max_examples=scaled(200, 5000),
        deadline=timedelta(seconds=20),
        derandomize=not WHOLE,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(
        some.one_of(
            some.binary(max_size=400),
            some.builds(change, some.just(right), some.lists(changed, max_size=4)),
        )
    )
    def any_bytes(data: bytes) -> None:
        counts[outcome(target, data)] += 1
        if name == "gzip files":
            counts[outcome(target, whole(data))] += 1

    any_bytes()
    row.runs = row.faults = counts.total()
    row.bounds = f"{counts['read']} read, {counts['refused']} refused"
    row.keep()
    assert counts["read"]
    assert counts["refused"] or name in NEVER_REFUSED


@pytest.mark.parametrize("name", TARGETS)
def test_every_cut_and_every_doubling_is_read_or_refused(name: str) -> None:
    right, target = EXAMPLES[name], TARGETS[name]
    chance = random.Random(1)
    for end in range(len(right)):
        outcome(target, right[:end])
        outcome(target, right[end:])
        other = bytearray(right)
        other[end] = chance.randrange(256)
        outcome(target, bytes(other))
    outcome(target, right * 1000)


def test_control_a_parser_that_lets_others_errors_through_is_seen() -> None:
    def careless(data: bytes) -> object:
        return a_line(data) if data.startswith(b"{") else data.decode()

    row = Line(SUITE, "control: a parser that lets others' errors through", FILE, runs=1)
    try:
        outcome(careless, b"\xff")
    except UnicodeDecodeError:
        row.control(seen=True)
    else:
        row.control(seen=False)


# A whole run without it fails: the extra `fuzz`, which `make faults` installs, has it.
@pytest.mark.skipif(not WHOLE, reason="left to `make faults` and `make fuzz`")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", TARGETS)
def test_atheris_finds_no_other_error(name: str, tmp_path: Path) -> None:
    row = Line(SUITE, f"{name}, by atheris", FILE)
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.hostile_atheris", str(tmp_path), "30", name],
        capture_output=True,
        text=True,
        timeout=500,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    row.runs = row.faults = int(
        done.stderr.rpartition("stat::number_of_executed_units:")[2].split()[0]
    )
    row.bounds = "30 s, guided by coverage"
    row.keep()
