"""A chart of arrivals: where its bars, lines and labels stand, and the numbers in words.

Across, places are in percent of the width, so that a chart fits a phone and a screen with labels of
one size; down, they are in pixels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta, timezone

from singerlake.lake.arrivals import ORIGIN, Arrivals
from singerlake.site import words
from singerlake.site.survey import Day

HEIGHT = 180
"""Of the bars' area."""

FEWEST = 24
"""Steps across: with fewer, a single arrival would be one bar as wide as the page."""

GAP = 0.18
"""Of a step's width, between two bars."""

DAY = timedelta(days=1)

_LAST = datetime.max.replace(tzinfo=timezone.utc)
"""A step may reach beyond it: nothing keeps a writer's clock from the year 9999."""


@dataclass(frozen=True)
class Bar:
    """One step in time: the bar's place, and what it stands for."""

    left: float
    width: float
    top: float
    height: float
    step: float
    step_width: float
    reading: str


@dataclass(frozen=True)
class Tick:
    """A label on an axis. `anchor` is SVG's."""

    at: float
    label: str
    anchor: str = "middle"


@dataclass(frozen=True)
class Drawing:
    """The chart of one measure."""

    measure: str
    bars: tuple[Bar, ...]
    levels: tuple[Tick, ...]


@dataclass(frozen=True)
class Reading:
    """A row of the table behind the chart."""

    when: str
    records: int
    files: int
    bytes: int


@dataclass(frozen=True)
class Chart:
    """Arrivals, drawn by records, by bytes and by files."""

    step: str
    start: datetime
    end: datetime
    drawings: tuple[Drawing, ...]
    ticks: tuple[Tick, ...]
    readings: tuple[Reading, ...]
    highest: Reading


def chart(found: Arrivals) -> Chart | None:
    """None where nothing has arrived."""
    if not found.files:
        return None
    shown = _with_room(found)
    starts = [shown.start + number * shown.width for number in range(len(shown.files))]
    readings = [
        Reading(_named(start, shown.width), *row)
        for start, row in zip(
            starts, zip(shown.records, shown.files, shown.bytes, strict=True), strict=True
        )
    ]
    texts = [_reading(row) for row in readings]
    return Chart(
        step=words.span(shown.width),
        start=starts[0],
        end=starts[-1] + min(shown.width, _LAST - starts[-1]),
        drawings=(
            _drawing("records", shown.records, texts, words.short),
            _drawing("size", shown.bytes, texts, words.size),
            _drawing("files", shown.files, texts, words.short),
        ),
        ticks=tuple(_ticks(starts, shown.width)),
        readings=tuple(row for row in reversed(readings) if row.files),
        highest=max(readings, key=lambda row: (row.records, row.bytes)),
    )


def daily(days: Mapping[date, Day], until: date, count: int) -> Arrivals:
    """The last days up to one, as arrivals; empty where nothing came in them."""
    first = until - DAY * (count - 1)
    rows = [days.get(first + DAY * number, Day()) for number in range(count)]
    if not any(row.files for row in rows):
        rows = []
    return Arrivals(
        start=datetime.combine(first, time(), timezone.utc),
        width=DAY,
        records=tuple(row.records for row in rows),
        files=tuple(row.files for row in rows),
        bytes=tuple(row.bytes for row in rows),
    )


def _with_room(found: Arrivals) -> Arrivals:
    """Widened into the time before the first arrival, in which there was none."""
    room = max(0, min(FEWEST - len(found.files), (found.start - ORIGIN) // found.width))
    none = (0,) * room
    return Arrivals(
        start=found.start - room * found.width,
        width=found.width,
        records=none + found.records,
        files=none + found.files,
        bytes=none + found.bytes,
    )


def _drawing(
    measure: str, values: Sequence[int], readings: Sequence[str], label: Callable[[float], str]
) -> Drawing:
    highest = max(1, *values)  # records may be unknown, and count for none
    unit = _level(highest)
    top = unit * -(-highest // unit)
    step = 100 / len(values)
    bars = []
    for number, (value, reading) in enumerate(zip(values, readings, strict=True)):
        # What is not nothing can be seen.
        height = max(2.0, HEIGHT * value / top) if value else 0.0
        bars.append(
            Bar(
                left=round((number + GAP / 2) * step, 3),
                width=round((1 - GAP) * step, 3),
                top=round(HEIGHT - height, 2),
                height=round(height, 2),
                step=round(number * step, 3),
                step_width=round(step, 3),
                reading=reading,
            )
        )
    levels = [
        Tick(round(HEIGHT - HEIGHT * value / top, 2), label(value))
        for value in range(0, top + 1, unit)
    ]
    return Drawing(measure, tuple(bars), tuple(levels))


def _level(highest: int) -> int:
    """A round number that goes three to five times into the highest value."""
    unit = 1
    while True:
        for factor in (1, 2, 5):
            if highest <= factor * unit * 5:
                return factor * unit
        unit *= 10


def _ticks(starts: Sequence[datetime], width: timedelta) -> list[Tick]:
    """Five labels, each at the beginning of a step."""
    count = len(starts)
    chosen = sorted({round(number * (count - 1) / 4) for number in range(5)})
    ticks = []
    for number in chosen:
        anchor = "start" if number == 0 else "end" if number == count - 1 else "middle"
        at = 0.0 if number == 0 else 100.0 if number == count - 1 else (number + 0.5) * 100 / count
        ticks.append(Tick(round(at, 3), _short(starts[number], width, starts), anchor))
    return ticks


def _short(start: datetime, width: timedelta, starts: Sequence[datetime]) -> str:
    if width < DAY and starts[0].date() == starts[-1].date():
        return f"{start:%H:%M}"
    if width < DAY:
        return f"{start.day} {start:%b %H:%M}" if width < DAY / 4 else f"{start.day} {start:%b}"
    if starts[-1] - starts[0] > timedelta(days=330):
        return f"{start:%b %Y}"
    return f"{start.day} {start:%b}"


def _named(start: datetime, width: timedelta) -> str:
    if width < DAY:
        return f"{start:%Y-%m-%d %H:%M}"
    if width == DAY:
        return f"{start:%Y-%m-%d}"
    return f"{words.span(width)} from {start:%Y-%m-%d}"


def _reading(row: Reading) -> str:
    if not row.files:
        return f"{row.when}: nothing"
    return (
        f"{row.when}: {words.plural(row.records, 'record')}, {words.plural(row.files, 'file')}, "
        f"{words.size(row.bytes)}"
    )
