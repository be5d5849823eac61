"""Rows that an enemy wrote: whoever reads them gives a result, or one of our errors."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import pytest

from singerlake.format import times
from tests.faults.hostile_enemy import CHANGERS, READERS
from tests.faults.hostile_rows import KINDS, Case, Ground, cases, ground, withstood
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Violation

THIS = "tests/faults/test_hostile_rows.py"
SUITE = "Rows by an enemy"
SEED = 20261116

NOT_IN_UTC = Case("row of a file", ("committed",), "0001-01-01T00:00:00+05:00")

ONCE_UNFORESEEN = (
    Case("row of a merged file", ("sequence",), 2**31),
    Case("row of a merged file", ("merge", "committed"), "2026-01-01T00:00:00"),
    Case("row of a file", ("committed",), "2026-01-01T00:00:00"),
    Case("row of a file", ("committed",), "9999-12-31T23:59:59.999999Z"),
    Case("row of a file", ("bytes",), 2**63 - 1),
    Case("row of a file", ("sequence",), 10**30),
    Case("manifest", ("files", 1, "path"), "2026-01-01T00:00:00"),
    Case("segment", ("files",), []),
    Case("merge document", ("parts", 0, 0), 10**30),
    Case("merge document", ("parts", 3, 1), 0),
    Case("merge document", ("parts", 0, 1), -1),
    NOT_IN_UTC,
)
"""Each of these has ended a reader with a traceback."""


@pytest.fixture
def found(tmp_path: Path, quiet: None) -> Ground:
    return ground(tmp_path / "whole")


@pytest.mark.timeout(scaled(300, 3600))
@pytest.mark.parametrize("kind", KINDS)
def test_whatever_a_document_holds_it_is_read_or_refused(
    found: Ground, kind: str, tmp_path: Path
) -> None:
    row = Line(SUITE, f"any value in the {kind}", f"{THIS} -k whatever")
    every = cases(found, kind)
    random.Random(SEED).shuffle(every)
    known = [case for case in ONCE_UNFORESEEN if case.kind == kind]
    for case in [*known, *every[: scaled(1, 40)]]:
        row.runs += withstood(found, case, {**READERS, **CHANGERS}, tmp_path / "copy")
        row.faults += 1
    row.keep()


def greedy(root: Path) -> bytearray:
    """A reader that makes room for all that a row tells of."""
    return bytearray(1 << 40)


def hasty(root: Path) -> int:
    """A reader that takes every value for a number."""
    return int("x")


@pytest.mark.parametrize(
    ("reader", "kind"), [(greedy, "UNBOUNDED"), (hasty, "UNFORESEEN")], ids=["greedy", "hasty"]
)
def test_control_a_greedy_or_a_hasty_reader_is_seen(
    found: Ground, reader: Callable[[Path], object], kind: str, tmp_path: Path
) -> None:
    row = Line(SUITE, f"control: a {reader.__name__} reader", f"{THIS} -k control", runs=1)
    try:
        withstood(found, NOT_IN_UTC, {reader.__name__: reader}, tmp_path / "copy")
    except Violation as violation:
        row.control(violation.kind == kind, violation)
    else:
        row.control(seen=False)


def test_control_without_the_rule_for_times_a_row_ends_a_reader(
    found: Ground, tmp_path: Path
) -> None:
    row = Line(SUITE, "control: times that need not be in UTC", f"{THIS} -k control", runs=1)
    try:
        with mock.patch.object(times, "require_utc", return_value=None):
            withstood(found, NOT_IN_UTC, READERS, tmp_path / "copy")
    except Violation as violation:
        row.control(violation.kind == "UNFORESEEN", violation)
    else:
        row.control(seen=False)
