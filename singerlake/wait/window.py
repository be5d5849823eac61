"""Windows: spans of wall-clock time in which an event counts. Pure values, without a clock."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from typing import Literal, TypeAlias, get_args
from zoneinfo import ZoneInfo

import msgspec

from singerlake.errors import ConfigError

Frequency = Literal["H", "D", "W", "M", "Q", "Y"]
FREQUENCIES: tuple[Frequency, ...] = get_args(Frequency)

_HOUR = timedelta(hours=1)
_MOMENT = timedelta(microseconds=1)
_OFFSET = re.compile(r"([+-]?)(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m)?(?:(\d+)s)?", re.ASCII)


class Span(msgspec.Struct, frozen=True):
    """From `start`, which belongs to it, up to `end`, which does not, both in UTC."""

    start: datetime
    end: datetime
    name: str

    def holds(self, moment: datetime) -> bool:
        return self.start <= moment < self.end


class Window(msgspec.Struct, frozen=True, tag="calendar", tag_field="kind", omit_defaults=True):
    """Hours, days, ISO weeks, months, quarters or years of a zone.

    `offset`, in seconds, moves every boundary on the wall clock: with -7200 the 15th lasts from
    22:00 of the 14th to 22:00 of the 15th. A boundary is the first moment at which the wall clock
    shows it, or has passed it where the clock skips it. An hour that comes twice is two windows.
    Windows tile time: every moment is in just one.

    Raises `ConfigError`.
    """

    frequency: Frequency
    zone: str = "UTC"
    offset: int = 0

    def __post_init__(self) -> None:
        if self.frequency not in FREQUENCIES:
            raise ConfigError(
                f"expected a frequency of {', '.join(FREQUENCIES)} for a window, "
                f"found {self.frequency!r}"
            )
        zone_of(self.zone)

    def at(self, moment: datetime) -> Span:
        """The span that holds this moment. Raises `ConfigError` where dates end."""
        if moment.tzinfo is None:
            raise ConfigError(f"expected a time with a zone, found {moment.isoformat()}")
        try:
            moment = moment.astimezone(timezone.utc)
            return self._hour(moment) if self.frequency == "H" else self._span(moment)
        except OverflowError:
            raise ConfigError(
                f"no window of {self.frequency} in {self.zone} holds {moment.isoformat()}: it is "
                "at the end of all dates"
            ) from None

    def after(self, span: Span) -> Span:
        """The next window; days that a zone left out do not count."""
        return self.at(span.end)

    def before(self, span: Span) -> Span:
        return self.at(span.start - _MOMENT)

    def later(self, span: Span, seconds: int) -> datetime:
        """So long after the span's beginning on the wall clock: six hours after midnight it is six,
        also on the day on which the clocks change. Hours are counted as they pass."""
        zone, length = zone_of(self.zone), timedelta(seconds=seconds)
        offset = timedelta(seconds=self.offset)
        try:
            if self.frequency == "H":
                return span.start + length
            label = _floor(_wall(span.start, zone) - offset, self.frequency)
            return _first_instant(label + offset + length, zone)
        except OverflowError:
            raise ConfigError(
                f"{seconds} seconds after {span.name} are past the end of all dates"
            ) from None

    def _span(self, moment: datetime) -> Span:
        zone, offset = zone_of(self.zone), timedelta(seconds=self.offset)
        label = _floor(_wall(moment, zone) - offset, self.frequency)
        while moment < (start := _first_instant(label + offset, zone)):
            label = _step(label, self.frequency, -1)
        while moment >= (end := _first_instant(_step(label, self.frequency, 1) + offset, zone)):
            label, start = _step(label, self.frequency, 1), end
        return Span(start, end, _name(label, self.frequency))

    def _hour(self, moment: datetime) -> Span:
        zone, offset = zone_of(self.zone), timedelta(seconds=self.offset)
        start, end = _hour_start(moment, zone, offset), _hour_end(moment, zone, offset)
        label = (start.astimezone(zone) - offset).replace(tzinfo=None)
        return Span(start, end, f"{label:%Y-%m-%dT%H}{start.astimezone(zone):%z}")


class Sliding(msgspec.Struct, frozen=True, tag="sliding", tag_field="kind"):
    """The last so many seconds, whenever somebody looks. Raises `ConfigError`."""

    seconds: float

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= timedelta(days=36500).total_seconds():
            raise ConfigError(
                f"expected more than 0 seconds and at most a century for a sliding window, "
                f"found {self.seconds}"
            )

    def at(self, moment: datetime) -> Span:
        now = moment.astimezone(timezone.utc)
        start = now - timedelta(seconds=self.seconds)
        return Span(start, now + _MOMENT, f"last {timedelta(seconds=self.seconds)}")


AnyWindow: TypeAlias = Window | Sliding


def parse(frequency: str, zone: str = "UTC", offset: str = "") -> Window:
    """A window as people write it: `D`, `Europe/Berlin`, `-2h`. Raises `ConfigError`."""
    if frequency.upper() not in FREQUENCIES:
        raise ConfigError(
            f"expected one of {', '.join(FREQUENCIES)} as a window (hour, day, week, month, "
            f"quarter, year), found {frequency!r}"
        )
    return Window(frequency.upper(), zone, parse_offset(offset))  # type: ignore[arg-type]


def parse_offset(text: str) -> int:
    """Seconds of `-2h`, `+1d6h`, `30m`. Raises `ConfigError`."""
    match = _OFFSET.fullmatch(text.strip())
    parts = match.groups() if match else ("",)
    if not any(parts[1:]) and text.strip() not in ("", "0"):
        raise ConfigError(f"expected an offset such as -2h, 30m or +1d6h, found {text!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in (*parts[1:], *"0000")[:4])
    try:
        length = timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        raise ConfigError(f"expected an offset such as -2h, found {text!r}") from None
    return int(length.total_seconds()) * (-1 if parts[0] == "-" else 1)


def zone_of(name: str) -> tzinfo:
    """Raises `ConfigError` for a zone that nobody knows."""
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise ConfigError(
            f"expected an IANA time zone such as Europe/Berlin, found {name!r}"
        ) from None


def _wall(moment: datetime, zone: tzinfo) -> datetime:
    return moment.astimezone(zone).replace(tzinfo=None)


def _floor(wall: datetime, frequency: Frequency) -> datetime:
    day = datetime(wall.year, wall.month, wall.day)
    if frequency == "W":
        return day - timedelta(days=day.weekday())
    if frequency == "D":
        return day
    month = {"M": day.month, "Q": (day.month - 1) // 3 * 3 + 1, "Y": 1}[frequency]
    return day.replace(month=month, day=1)


def _step(label: datetime, frequency: Frequency, steps: int) -> datetime:
    days = {"D": 1, "W": 7}.get(frequency)
    if days is not None:
        return label + timedelta(days=days * steps)
    months = label.year * 12 + label.month - 1 + {"M": 1, "Q": 3, "Y": 12}[frequency] * steps
    if not 12 <= months < 12 * 10_000:
        raise OverflowError
    return label.replace(year=months // 12, month=months % 12 + 1)


def _name(label: datetime, frequency: Frequency) -> str:
    """`2026-03-29`, `2026-W13`, `2026-03`, `2026-Q1`, `2026`."""
    if frequency == "W":
        year, week, _ = label.isocalendar()
        return f"{year:04}-W{week:02}"
    if frequency == "Q":
        return f"{label.year:04}-Q{(label.month + 2) // 3}"
    return label.date().isoformat()[: {"D": 10, "M": 7, "Y": 4}[frequency]]


def _first_instant(wall: datetime, zone: tzinfo) -> datetime:
    """The first moment at which the wall clock shows this, or more where it skips it."""
    moment = wall.replace(tzinfo=zone, fold=0).astimezone(timezone.utc)
    if _wall(moment, zone) == wall:
        return moment
    before = wall.replace(tzinfo=zone, fold=1).astimezone(timezone.utc)
    return _change(before, moment, zone)


def _change(before: datetime, after: datetime, zone: tzinfo) -> datetime:
    """The moment between these two from which on the zone has another offset."""
    old = before.astimezone(zone).utcoffset()
    # Zones change at whole seconds.
    low = before.replace(microsecond=0)
    seconds = int((after - low).total_seconds()) + 1
    first, last = 0, seconds
    while last - first > 1:
        middle = (first + last) // 2
        if (low + timedelta(seconds=middle)).astimezone(zone).utcoffset() == old:
            first = middle
        else:
            last = middle
    return low + timedelta(seconds=last)


def _hour_start(moment: datetime, zone: tzinfo, offset: timedelta) -> datetime:
    start = moment - _into_hour(moment, zone, offset)
    if start.astimezone(zone).utcoffset() == moment.astimezone(zone).utcoffset():
        return start
    change = _change(start, moment, zone)
    if _is_hour(change, zone, offset):
        return change
    return _hour_start(change - _MOMENT, zone, offset)


def _hour_end(moment: datetime, zone: tzinfo, offset: timedelta) -> datetime:
    end = moment + _HOUR - _into_hour(moment, zone, offset)
    if end.astimezone(zone).utcoffset() == moment.astimezone(zone).utcoffset():
        return end
    change = _change(moment, end, zone)
    return change if _is_hour(change, zone, offset) else _hour_end(change, zone, offset)


def _into_hour(moment: datetime, zone: tzinfo, offset: timedelta) -> timedelta:
    return (_wall(moment, zone) - offset - datetime.min) % _HOUR


def _is_hour(change: datetime, zone: tzinfo, offset: timedelta) -> bool:
    """Whether an hour begins where a clock changes: it shows one, or has skipped the beginning."""
    into = _into_hour(change, zone, offset)
    skipped = _wall(change, zone) - _wall(change - _MOMENT, zone) - _MOMENT
    return into == timedelta(0) or into <= skipped
