"""A merge document fits the row that names it, or is not the row's."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from singerlake.errors import CorruptDocument
from singerlake.format import merge as merges
from singerlake.format.manifest import File
from singerlake.format.merge import Commits, Merge, Part
from tests.format.made import EPOCH

ROW = File(
    path="StxYGwZ/x",
    first_sequence=3,
    sequence=5,
    records=6,
    bytes=90,
    raw_bytes=100,
    first=EPOCH,
    last=EPOCH,
    checksum="",
    committed=EPOCH,
)


LOCAL = ["2026-01-01T00:00:00", 1, 1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", ""]
"""A part whose commit time has no zone."""


def made(*parts: tuple[int, int], path: str = ROW.path) -> Merge:
    return Merge(path=path, parts=parts, retired=())


def test_a_merge_has_each_number_of_its_row() -> None:
    assert made((3, 1), (4, 0), (5, 5)).is_of(ROW)
    assert made((3, 1), (4, 2), (5, 5)).is_of(ROW), "a line need not be a record"


@pytest.mark.parametrize(
    "merge",
    [
        made(),
        made((3, 1), (5, 5)),
        made((3, 1), (4, 0), (5, 5), (6, 0)),
        made((4, 1), (3, 0), (5, 5)),
        made((2, 1), (3, 0), (4, 5)),
        made((3, 1), (4, 0), (5, 4)),
        made((3, 1), (4, 0), (5, 100)),
        made((3, 1), (4, 0), (5, 5), path="StxYGwZ/y"),
    ],
)
def test_a_merge_of_other_numbers_or_lines_is_not_of_the_row(merge: Merge) -> None:
    assert not merge.is_of(ROW)


def commits(*firsts: int, parts: int = 1) -> tuple[Commits, ...]:
    part = Part(EPOCH, 1, 1, EPOCH, EPOCH, "")
    return tuple(
        Commits(first_sequence=first, writer_id="w", run_id="r", parts=(part,) * parts)
        for first in firsts
    )


@pytest.mark.parametrize(
    ("told", "fits"),
    [
        (commits(3, 4, 5), True),
        (commits(3, 5), True),
        (commits(3, parts=3), True),
        (commits(4, 3), False),
        (commits(3, 3), False),
        (commits(2, 3), False),
        (commits(5, 6), False),
        (commits(3, parts=4), False),
    ],
)
def test_commits_are_of_numbers_that_the_row_has(told: tuple[Commits, ...], fits: bool) -> None:
    merge = msgspec.structs.replace(made((3, 1), (4, 0), (5, 5)), commits=told)
    assert merge.is_of(ROW) == fits


def test_a_row_of_many_numbers_is_compared_without_counting_to_them() -> None:
    assert not made((3, 6)).is_of(msgspec.structs.replace(ROW, sequence=2**53))


def test_a_merge_without_parts_is_of_a_row_with_one_number() -> None:
    assert made().is_of(msgspec.structs.replace(ROW, first_sequence=0))


@pytest.mark.parametrize(
    "change",
    [
        {"parts": [[1, -1]]},
        {"parts": [[1, 2**53 + 1]]},
        {"parts": [[10**30, 1]]},
        {"retired": [{"path": "x", "at": "2026-01-01T00:00:00"}]},
        {"retired": [{"path": "x", "at": "0001-01-01T00:00:00+05:00"}]},
        {"commits": [{"first_sequence": 1, "writer_id": "w", "run_id": "r", "parts": []}]},
        {"commits": [{"first_sequence": 1, "writer_id": "w", "run_id": "r", "parts": [LOCAL]}]},
        {"commits": [{"first_sequence": -1, "writer_id": "w", "run_id": "r", "parts": []}]},
    ],
)
def test_a_merge_beyond_the_limits_is_corrupt(change: dict[str, Any]) -> None:
    body = {**msgspec.to_builtins(made((1, 1))), **change}
    with pytest.raises(CorruptDocument, match=r"^here: expected a singerlake.merge"):
        merges.decode(json.dumps(body).encode(), "here")
