"""A stream's schema versions side by side, and what changed from each to the next."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from singerlake.format.difference import Change, Difference, differences
from singerlake.format.schema import Schema
from singerlake.site.properties import Path, Property, joined, properties
from singerlake.site.survey import VersionFacts

SIDE_BY_SIDE = 6
"""Columns that a screen holds: the newest versions."""


@dataclass(frozen=True)
class Cell:
    """A property in one version; `told` is None where that version does not have it."""

    told: Property | None
    change: Change | None


@dataclass(frozen=True)
class Row:
    """A property in all versions that are compared."""

    path: Path
    cells: tuple[Cell, ...]

    @property
    def name(self) -> str:
        return joined(self.path)

    @property
    def differs(self) -> bool:
        return any(cell.change for cell in self.cells)


@dataclass(frozen=True)
class Step:
    """From one version to the next."""

    before: VersionFacts
    after: VersionFacts
    changes: tuple[Difference, ...]


@dataclass(frozen=True)
class Comparison:
    """The newest versions as columns, properties as rows, and all steps, newest first."""

    columns: tuple[VersionFacts, ...]
    rows: tuple[Row, ...]
    steps: tuple[Step, ...]


def compare(versions: Sequence[VersionFacts]) -> Comparison:
    """Of versions from the oldest to the newest; one whose schema is not known is left out."""
    known = [version for version in versions if version.schema is not None]
    steps = [
        Step(old, new, differences(_schema(old), _schema(new))) for old, new in pairwise(known)
    ]
    columns = tuple(known[-SIDE_BY_SIDE:])
    rows = _rows(columns, steps) if steps else ()
    return Comparison(columns, tuple(rows), tuple(reversed(steps)))


def _schema(version: VersionFacts) -> Schema:
    return version.schema or Schema({})


def _rows(columns: Sequence[VersionFacts], steps: Sequence[Step]) -> list[Row]:
    tables = [{told.path: told for told in properties(_schema(one))} for one in columns]
    changed = [
        {one.path for one in step.changes if one.change == "changed"}
        for step in steps[len(steps) + 1 - len(columns) :]
    ]
    # The newest version's order, with what it has no more behind it.
    paths = dict.fromkeys(path for table in reversed(tables) for path in table)
    rows = []
    for path in paths:
        cells = [Cell(tables[0].get(path), None)]
        for (old, new), marks in zip(pairwise(tables), changed, strict=True):
            cells.append(Cell(new.get(path), _change(old.get(path), new.get(path), path in marks)))
        rows.append(Row(path, tuple(cells)))
    return rows


def _change(old: Property | None, new: Property | None, marked: bool) -> Change | None:
    if old is None or new is None:
        return "added" if new is not None else "removed" if old is not None else None
    return "changed" if marked or old.is_key != new.is_key else None
