"""What streams add up to, in a tap and in the lake."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

from singerlake.site.notes import Notes
from singerlake.site.survey import Day


@dataclass(frozen=True)
class StreamRow:
    """A stream in its tap's list: all that is kept of it once its page is written."""

    name: str
    page: str
    description: str
    versions: int
    properties: int
    files: int
    records: int | None
    bytes: int
    last_commit: datetime | None
    problems: int


@dataclass
class Totals:
    """Sums over streams. `uncounted` are streams whose records nobody counted."""

    streams: int = 0
    properties: int = 0
    files: int = 0
    records: int = 0
    bytes: int = 0
    uncounted: int = 0
    last_commit: datetime | None = None
    days: dict[date, Day] = field(default_factory=dict)

    def add_stream(self, row: StreamRow, days: Mapping[date, Day]) -> None:
        self.streams += 1
        self.properties += row.properties
        self.files += row.files
        self.records += row.records or 0
        self.uncounted += row.records is None
        self.bytes += row.bytes
        self._add(days, row.last_commit)

    def add(self, other: Totals) -> None:
        self.streams += other.streams
        self.properties += other.properties
        self.files += other.files
        self.records += other.records
        self.uncounted += other.uncounted
        self.bytes += other.bytes
        self._add(other.days, other.last_commit)

    def _add(self, days: Mapping[date, Day], last_commit: datetime | None) -> None:
        for day, more in days.items():
            self.days[day] = self.days.get(day, Day()) + more
        both = [one for one in (self.last_commit, last_commit) if one is not None]
        self.last_commit = max(both, default=None)


@dataclass(frozen=True)
class TapRow:
    """A tap's card on the first page."""

    tap_id: str
    page: str
    notes: Notes
    totals: Totals
    problems: int
