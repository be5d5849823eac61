"""Examine a buffer: every event of every file. Nothing is changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from singerlake.errors import ConfigError, CorruptFile, UnsupportedFormat
from singerlake.lineage.buffer.disk import database, high_water, partition
from singerlake.lineage.buffer.disk.event import unpack
from singerlake.lineage.buffer.disk.gaps import Gaps
from singerlake.lineage.buffer.disk.layout import (
    DAMAGED,
    LAST,
    LOCK,
    PREPARED,
    SIDE_FILES,
    STATE,
    is_partition,
    partition_paths,
)
from singerlake.lineage.buffer.disk.state import FLOOR, State

READ = 256
TRIES = 5


@dataclass(frozen=True)
class Finding:
    file: str
    problem: str


@dataclass(frozen=True)
class Report:
    partitions: int
    events: int
    findings: tuple[Finding, ...]
    floor: int | None
    """The first number that should be there."""


def check(folder: Path) -> Report:
    """Again where a running proxy deleted files meanwhile. Raises `ConfigError` where there is no
    buffer."""
    if not folder.is_dir() or not ((folder / STATE).exists() or partition_paths(folder)):
        raise ConfigError(f"{folder}: expected the folder of a proxy (--data), found no buffer")
    report = _checked(folder)
    for _ in range(TRIES):
        if report.floor == _state(folder, [])[1]:
            break
        report = _checked(folder)
    return report


def _checked(folder: Path) -> Report:
    findings = [*_foreign(folder)]
    gaps, floor = _state(folder, findings)
    last = high_water.read(folder)  # before the files are listed: one of them has it
    paths = partition_paths(folder)
    events = 0
    expected = floor if floor is not None else next(iter(paths), 1)
    for first, copies in paths.items():
        expected = _note_gap(expected, first - 1, gaps, copies[-1].name, findings)
        found, expected = _examined(copies[-1], first, gaps, findings)
        events += found
    _note_gap(expected, last, gaps, LAST, findings)
    return Report(len(paths), events, tuple(findings), floor)


def _state(folder: Path, findings: list[Finding]) -> tuple[Gaps | None, int | None]:
    try:
        if not (folder / STATE).exists():
            raise CorruptFile("the state is missing: all that is here would be sent again")
        state = State(folder / STATE)
    except (CorruptFile, UnsupportedFormat, sqlite3.Error) as error:
        findings.append(Finding(STATE, str(error)))
        return None, None
    with closing(state):
        gaps, floor = Gaps(state), state.fact(FLOOR)
        for gap in gaps:
            if gap.lost:
                text = f"events {gap.first} to {gap.last} are lost: {gap.reason}"
                findings.append(Finding(STATE, text))
        return gaps, floor


def _examined(
    path: Path, first: int, gaps: Gaps | None, findings: list[Finding]
) -> tuple[int, int]:
    """How many events are sound, and the number that comes after the last."""
    sound, at = 0, first - 1
    try:
        partition.opened(path, first)
        with closing(database.connect_to_read(path)) as connection:
            while rows := partition.rows_after(connection, at, READ):
                for row in rows:
                    _note_gap(at + 1, row[0] - 1, gaps, path.name, findings)
                    at = row[0]
                    try:
                        unpack(row)
                        sound += 1
                    except CorruptFile as error:
                        findings.append(Finding(path.name, str(error)))
    except (CorruptFile, UnsupportedFormat, sqlite3.Error) as error:
        findings.append(Finding(path.name, f"{error} (after event {at})"))
    return sound, at + 1


def _note_gap(first: int, last: int, gaps: Gaps | None, name: str, findings: list[Finding]) -> int:
    if first <= last and (gaps is None or not gaps.covers(first, last)):
        findings.append(Finding(name, f"events {first} to {last} are missing"))
    return max(first, last + 1)


def _foreign(folder: Path) -> Iterator[Finding]:
    # By name, in one look: a running proxy makes partitions and deletes them.
    for path in sorted(folder.iterdir()):
        database = path.name
        for suffix in SIDE_FILES:
            database = database.removesuffix(suffix)
        if database in (STATE, PREPARED) or is_partition(database):
            continue
        if path.name == DAMAGED:
            for aside in sorted(path.iterdir()):
                yield Finding(f"{DAMAGED}/{aside.name}", "a damaged file, set aside")
        elif path.name not in (LOCK, LAST) and not path.name.startswith("invalid.jsonl"):
            yield Finding(path.name, "a file of somebody else: nothing reads it")
