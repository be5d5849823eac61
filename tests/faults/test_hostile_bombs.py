"""Memory is bounded whatever a lake holds, and each reader ends as it should."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults import hostile_bombs as bombs
from tests.faults.hostile_enemy import CHANGERS, READERS, SUITE
from tests.faults.result import Line
from tests.faults.scale import scaled

THIS = "tests/faults/test_hostile_bombs.py"

Bomb = Callable[[Path], None]

BOMBS: dict[Bomb, int] = {
    bombs.a_line_of_gigabytes: 500,
    bombs.a_string_of_gigabytes: 500,
    bombs.gigabytes_of_blank_lines: 250,
    bombs.more_than_its_row_says: 250,
    bombs.deep_json: 250,
    bombs.a_line_of_100_megabytes: 1500,
    bombs.documents_of_gigabytes: 250,
    bombs.a_lock_of_gigabytes: 250,
    bombs.a_segment_of_gigabytes: 250,
    bombs.a_merge_document_of_gigabytes: 250,
}
"""With the megabytes that a process may hold; with all that is imported, it begins at 120."""

OUTCOMES: dict[Bomb, tuple[str, str, str, str]] = {
    bombs.a_line_of_gigabytes: ("Found", "Found", "CorruptFile", "CorruptFile"),
    bombs.a_string_of_gigabytes: ("Found", "Found", "CorruptFile", "CorruptFile"),
    bombs.gigabytes_of_blank_lines: ("read", "Found", "read", "read"),
    bombs.more_than_its_row_says: ("Found", "Found", "CorruptFile", "CorruptFile"),
    bombs.deep_json: ("Found", "Found", "CorruptDocument", "CorruptDocument"),
    bombs.a_line_of_100_megabytes: ("read", "read", "read", "read"),
    bombs.documents_of_gigabytes: ("Found", "Found", "CorruptDocument", "CorruptDocument"),
    bombs.a_lock_of_gigabytes: ("read", "Found", "read", "read"),
    bombs.a_segment_of_gigabytes: ("Found", "Found", "CorruptDocument", "CorruptDocument"),
    bombs.a_merge_document_of_gigabytes: ("read", "Found", "read", "CorruptDocument"),
}
"""Of `cat`, `check`, the tap and Spark. A command that ends with an error is `Found`."""

WHO = ("cat", "check", "the tap", "Spark")
QUICK = WHO[1:]
"""Those that the share has; all others are left to the whole, and may read or refuse."""


def outcome(reader: str, root: Path, *options: str) -> tuple[str, int]:
    """How it ended, and the most megabytes that it held, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.hostile_measured", reader, str(root), *options],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{reader}: {done.stderr[-3000:]}"
    how, taken = done.stdout.split()[-2:]
    return how, int(taken)


@pytest.mark.slow
@pytest.mark.timeout(scaled(300, 1800))
@pytest.mark.parametrize(
    "make",
    scaled(
        (bombs.a_line_of_gigabytes, bombs.deep_json, bombs.documents_of_gigabytes), tuple(BOMBS)
    ),
    ids=lambda make: make.__name__,
)
def test_memory_is_bounded_whatever_a_lake_holds(grounds: tuple[Path, Path], make: Bomb) -> None:
    root, _ = grounds
    make(root)
    row = Line(SUITE, make.__name__.replace("_", " "), THIS, faults=1)
    expected = dict(zip(WHO, OUTCOMES[make], strict=True))
    worst = 0
    for name in scaled(QUICK, (*READERS, *CHANGERS)):
        how, taken = outcome(name, root)
        worst = max(worst, taken)
        row.runs += 1
        assert how == expected.get(name, how), name
        assert taken < BOMBS[make], f"{name} took {taken} MB"
    row.bounds = f"at most {worst} MB of memory"
    row.keep()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_control_a_reader_without_its_limit_is_seen(grounds: tuple[Path, Path]) -> None:
    root, _ = grounds
    bombs.a_line_of_gigabytes(root, megabytes=700)
    row = Line(SUITE, "control: a reader without its limit", f"{THIS} -k control", runs=1)
    how, taken = outcome("the tap", root, "--without-limit")
    row.control(taken >= BOMBS[bombs.a_line_of_gigabytes], (how, taken))
