"""Points in time: as the lake writes them, always UTC and to the microsecond, and as taps do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import date, datetime, timedelta, timezone

_STAMP = re.compile(r"(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)(?:\.(\d{6}))?Z", re.ASCII)

TAP_TIME = re.compile(
    r"(?P<day>\d{4}-\d\d-\d\d)"
    r"(?:[Tt ](?P<hour>\d\d)(?::?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:\.(?P<fraction>\d+))?)?)?"
    r"(?P<zone>[Zz]|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)
"""Times as taps write them in records: RFC 3339, and what is near to it."""


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC; a time without a zone is taken to be UTC already."""
    if moment.tzinfo is None:
        return moment.replace(tzinfo=timezone.utc)
    return moment.astimezone(timezone.utc)


def require_utc(moments: Iterable[datetime]) -> None:
    """Raises `ValueError` where one of these has a zone, and is no moment in UTC."""
    for moment in moments:
        if moment.tzinfo is timezone.utc:
            continue  # as all that we write
        try:
            in_utc(moment)
        except OverflowError:
            raise ValueError("a time that is outside the years 1 to 9999 in UTC") from None


def rfc3339(moment: datetime) -> str:
    """`2026-11-16T02:54:14.000123Z`: fixed width, so that the text sorts as the time does."""
    return in_utc(moment).replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def stamp(moment: datetime) -> str:
    """`20261116T025414.000123Z`, the form that stands in file names."""
    return rfc3339(moment).replace("-", "").replace(":", "")


def parse_stamp(text: str) -> datetime:
    """Read a file name's time; the older form, with whole seconds, is read too.

    Raises `ValueError`.
    """
    match = _STAMP.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a time like 20261116T025414.000123Z")
    year, month, day, hour, minute, second, micros = (int(part or 0) for part in match.groups())
    return datetime(year, month, day, hour, minute, second, micros, tzinfo=timezone.utc)


def parse_time(text: str) -> datetime:
    """A moment in UTC: without a zone it is taken to be UTC, without a time to be midnight.

    More than six digits of a second are rounded, as the lake does (docs/spec.md, Times).
    Raises `ValueError` and `OverflowError`.
    """
    found = TAP_TIME.fullmatch(text)
    if found is None:
        raise ValueError("not a time")
    day = date.fromisoformat(found["day"])
    fraction = (found["fraction"] or "")[:7].ljust(7, "0")
    micros = int(fraction[:6]) + (fraction[6] >= "5")
    moment = datetime(
        day.year,
        day.month,
        day.day,
        int(found["hour"] or 0),
        int(found["minute"] or 0),
        int(found["second"] or 0),
        tzinfo=timezone.utc,
    )
    return moment + timedelta(microseconds=micros) - _offset_of(found["zone"])


def _offset_of(zone: str | None) -> timedelta:
    if zone is None or zone in "Zz":
        return timedelta()
    hours, minutes = int(zone[1:3]), int(zone[3:].lstrip(":") or 0)
    if hours > 23 or minutes > 59:
        raise ValueError("not a time")
    offset = timedelta(hours=hours, minutes=minutes)
    return -offset if zone[0] == "-" else offset
