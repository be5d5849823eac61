"""A lake written by an enemy: what its documents name, and how they nest."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singerlake.format import keys as key_names
from singerlake.lake import log
from singerlake.store import LocalStore
from tests.cli.lake import run as command
from tests.faults.hostile_bombs import a_deep_schema
from tests.faults.hostile_enemy import (
    CHANGERS,
    ELSEWHERE,
    FILES,
    LEAF,
    READERS,
    SUITE,
    Readers,
    in_a_file_row,
    in_a_merge_document,
    in_a_merge_row,
    in_a_segment_row,
    in_a_version,
    manifest,
    segment_row,
    withstood,
)
from tests.faults.result import Line
from tests.faults.scale import scaled
from tests.faults.truth import Violation
from tests.lake.landing import KEYS

THIS = "tests/faults/test_hostile_lake.py"
SHARE = tuple(ELSEWHERE[name] for name in ("up", "absolute", "a NUL", "its own manifest"))

PLACES: dict[Callable[[Path, str], None], frozenset[str]] = {
    in_a_file_row: FILES,
    in_a_version: frozenset({"check"}),
    in_a_segment_row: FILES | {"show", "log", "vacuum"},
    in_a_merge_row: frozenset({"check", "Spark"}),
    in_a_merge_document: frozenset({"check"}),
}
"""With those that have to refuse it; to the others it is nothing, or they need it not."""


@pytest.mark.timeout(300)
@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
def test_no_path_in_a_document_leads_outside(
    grounds: tuple[Path, Path], place: Callable[[Path, str], None], tmp_path: Path
) -> None:
    root, outside = grounds
    row = Line(SUITE, f"a path that leads outside, {place.__name__.replace('_', ' ')}", THIS)
    for number, make in enumerate(scaled(SHARE, tuple(ELSEWHERE.values()))):
        copy = tmp_path / f"copy-{number}" / "lake"
        shutil.copytree(root, copy)
        shutil.copytree(outside, copy.parent / "outside")
        place(copy, make(copy.parent / "outside" / LEAF))
        readers = {**READERS, **CHANGERS}
        row.runs += withstood(copy, copy.parent / "outside", readers, PLACES[place])
        row.faults += 1
    row.keep()


def skipping(root: Path) -> str:
    """A reader to which a row that it does not understand is none."""
    return '{"id": 2}'


def calling(root: Path) -> str:
    """A reader that goes where a URL says."""
    with socket.socket() as calls:
        calls.connect_ex(("127.0.0.1", 9))
    return '{"id": 1} {"id": 2}'


@pytest.mark.parametrize(
    ("reader", "kind"), [(skipping, "SKIPPED"), (calling, "TOUCHED")], ids=["skipping", "calling"]
)
def test_control_a_reader_that_skips_or_calls_is_seen(
    grounds: tuple[Path, Path], reader: Callable[[Path], str], kind: str
) -> None:
    root, outside = grounds
    row = Line(SUITE, f"control: a {reader.__name__} reader", f"{THIS} -k control", runs=1)
    readers: Readers = {"cat": reader}
    try:
        withstood(root, outside, readers)
    except Violation as violation:
        row.control(violation.kind == kind, violation)
    else:
        row.control(seen=False)


# Documents that grow when they are read.


def test_segments_that_name_each_other_are_not_read_without_end(
    grounds: tuple[Path, Path],
) -> None:
    """Eight objects of a few kilobytes, which would be 50 to the seventh power of reads."""
    root, outside = grounds
    store = LocalStore(root)
    rows: list[dict[str, Any]] = []
    for level in range(1, 9):
        body = {"format": "singerlake.segment", "format_version": 1, "segments": rows}
        data = json.dumps(body).encode()
        path = key_names.segment_path(level, 1, 1, "0badcafe")
        store.create(KEYS.under(path), data)
        rows = [segment_row(path, level=level, checksum=log.checksum(data))] * 50
    manifest(root, lambda body: body.update(segments=rows[:1]))
    row = Line(SUITE, "segments that name each other", THIS)
    row.runs, row.faults = withstood(root, outside, {**READERS, **CHANGERS}), 1
    row.keep()


def test_segments_in_segments_without_end_are_refused(grounds: tuple[Path, Path]) -> None:
    root, outside = grounds
    store = LocalStore(root)
    rows: list[dict[str, Any]] = []
    for level in range(1, 1200):
        body = {"format": "singerlake.segment", "format_version": 1, "segments": rows}
        data = json.dumps(body).encode()
        path = key_names.segment_path(level, 1, 1, "0badcafe")
        store.create(KEYS.under(path), data)
        rows = [segment_row(path, level=level, checksum=log.checksum(data))]
    manifest(root, lambda body: body.update(segments=rows))
    row = Line(SUITE, "segments a thousand levels deep", THIS)
    row.runs, row.faults = withstood(root, outside, READERS), 1
    row.keep()


def test_what_nests_deeply_is_refused_by_every_reader(grounds: tuple[Path, Path]) -> None:
    root, outside = grounds
    a_deep_schema(root)
    row = Line(SUITE, "a deep schema, catalogue and lake document", THIS)
    row.runs, row.faults = withstood(root, outside, {**READERS, **CHANGERS}), 1
    row.keep()


def test_one_bad_row_does_not_hide_the_rest_from_a_check(grounds: tuple[Path, Path]) -> None:
    root, outside = grounds
    in_a_file_row(root, ELSEWHERE["up"](outside / LEAF))
    findings = json.loads(command("check", root, "--json").stdout)["findings"]
    assert "name-wrong" in {one["code"] for one in findings}
    assert "orphan-file" in {one["code"] for one in findings}
